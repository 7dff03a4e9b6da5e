"""The commit message of a patch: what the scan found, in lines that a mail takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from patchkit.errors import InputError
from patchkit.fix.message import commit_message
from patchkit.fix.recipes import load_recipes
from patchkit.scan.findings import Finding

FINDING = Finding(
    rule="MPS101",
    effect="lost",
    layouts=("strided",),
    macos="<15",
    file="X.mm",
    line=1,
    column=1,
    end_line=1,
    function="twice_out_mps",
    tensor="output",
    ops=("twice.out", "twice_", "twice"),
    triggers=("out",),
    confidence="high",
    message="m",
    trace=(),
    fixable=True,
    fingerprint="f1",
)


def message(*findings: Finding, recipe: str = "") -> tuple[str, str]:
    found = next((known for known in load_recipes() if known.name == recipe), None)
    return commit_message(
        findings,
        change="Write to a contiguous temporary and copy it back.",
        template="copy_back",
        torch_version="2.2.1",
        tool_version="0.1.0",
        recipe=found,
    )


def test_subject_names_each_op_once() -> None:
    assert message(FINDING)[0] == "MPS: write the caller's output in twice"


def test_subject_of_many_ops_counts_the_rest() -> None:
    many = replace(FINDING, ops=("a.out", "b.out", "c.out", "d.out", "__iand__.Scalar"))
    assert message(many)[0] == "MPS: write the caller's output in a, b, c and 2 more"


def test_a_kernel_without_ops_is_named_itself() -> None:
    assert message(replace(FINDING, ops=()))[0] == "MPS: write the caller's output in twice_out_mps"


def test_body_says_what_goes_wrong_where_and_what_is_done() -> None:
    body = " ".join(message(FINDING)[1].split())
    assert body.startswith("Where the output of twice is not contiguous, the result of twice_out_mps goes to")
    assert "Write to a contiguous temporary and copy it back." in body
    assert "Ops: twice.out, twice_, twice macOS: before macOS 15" in body
    assert body.endswith("Made by patchkit 0.1.0 for torch 2.2.1 with the template copy_back.")


@pytest.mark.parametrize("effect", ["lost", "garbage", "misplaced", "dropped", "restrided", "unwritten"])
def test_every_effect_has_words_of_its_own(effect: str) -> None:
    body = " ".join(message(replace(FINDING, effect=effect))[1].split())
    assert f"twice_out_mps {effect}" not in body
    assert " is not contiguous, the result of twice_out_mps " in body


def test_several_findings_are_said_together() -> None:
    other = replace(FINDING, function="half_out_mps", ops=("half.out",), effect="misplaced", layouts=("offset",))
    body = " ".join(message(FINDING, other)[1].split())
    assert "Where the output of twice and half is not contiguous or has a storage offset" in body
    assert "the result of twice_out_mps and half_out_mps" in body


def test_a_recipe_adds_its_title_reason_and_references() -> None:
    subject, body = message(FINDING, recipe="random-ops")
    assert subject == "MPS: random ops keep a non-contiguous output"
    assert "\nSee: https://github.com/pytorch/pytorch/pull/165267\n" in body
    assert "One kernel serves every random op" in body


def test_lines_stay_within_72_columns() -> None:
    long = replace(FINDING, ops=tuple(f"operation_{n}.out" for n in range(40)))
    for recipe in ("", "random-ops", "addcmul-addcdiv"):
        assert max(map(len, message(long, recipe=recipe)[1].splitlines())) <= 72


def test_nothing_found_has_no_message() -> None:
    with pytest.raises(InputError, match="without findings"):
        message()
