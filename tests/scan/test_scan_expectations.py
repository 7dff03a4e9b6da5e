"""What a scan of a real release must say of the kernels that users reported and upstream repaired."""

from __future__ import annotations

import pytest

from patchkit.scan.findings import Cleared, Finding
from tree_kit import Release

pytestmark = pytest.mark.real_tree

OLD = pytest.mark.parametrize("release", ["1.13.1"], indirect=True)
NEW = pytest.mark.parametrize("release", ["2.6.0"], indirect=True)


def found(release: Release, function: str) -> list[Finding]:
    return [f for f in release.report.findings if f.function == function]


def cleared(release: Release, function: str) -> list[Cleared]:
    assert found(release, function) == []
    return [c for c in release.report.cleared if c.function == function]


@OLD
def test_addcmul_and_addcdiv_lose_their_output_in_1_13(release: Release) -> None:
    """Issue 118115: the reason why Adam did not train on a transposed weight."""
    (finding,) = found(release, "addc_mul_div_out_mps")
    assert finding.effect == "lost"
    assert set(finding.layouts) == {"strided", "channels_last", "offset"}
    assert set(finding.triggers) == {"inplace", "out", "functional"}
    ways = {"addcmul", "addcmul_", "addcmul.out", "addcdiv", "addcdiv_", "addcdiv.out"}
    assert set(finding.ops) == ways
    assert finding.macos == "all"


@NEW
def test_addcmul_and_addcdiv_copy_back_in_2_6(release: Release) -> None:
    """PR 124442."""
    function = "addc_mul_div_out_mps"
    assert {f.effect for f in found(release, function)} <= {"garbage"}  # its temporary is made like an input
    assert {c.reason for c in release.report.cleared if c.function == function} == {"copy_back"}


@NEW
def test_random_fills_lose_their_output_in_2_6(release: Release) -> None:
    """Issues 165257 and 124029; PR 165267."""
    (finding,) = found(release, "random_mps_impl")
    assert finding.effect == "lost"
    assert {"normal_", "uniform_", "bernoulli_.float", "exponential_", "random_"} <= set(finding.ops)
    assert {"inplace", "out", "functional"} == set(finding.triggers)
    assert finding.macos == "<15"


@NEW
@pytest.mark.parametrize("function", ["binaryOpTensor", "arange_mps_out", "range_mps_out", "unary_op_noresize"])
def test_kernels_with_a_right_guard_are_cleared_in_2_6(release: Release, function: str) -> None:
    """In arange and range the flag's name is the opposite of its value."""
    assert {c.reason for c in cleared(release, function)} == {"copy_back"}


@OLD
def test_unary_operators_lose_their_output_in_1_13(release: Release) -> None:
    """Issue 100764."""
    (finding,) = found(release, "unary_op")
    assert finding.effect == "lost"
    assert {"exp", "exp_", "exp.out", "sqrt_"} <= set(finding.ops)
    assert set(finding.triggers) == {"inplace", "out", "functional"}


@NEW
def test_linspace_loses_only_an_output_with_an_offset_in_2_6(release: Release) -> None:
    """`.contiguous()` of a contiguous view is the view itself."""
    (finding,) = found(release, "linspace_out_mps")
    assert (finding.effect, finding.layouts) == ("lost", ("offset",))
