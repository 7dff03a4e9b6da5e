"""An ``out=`` that is never written, whatever its layout: the kernel rebinds its handle to another tensor.

On MPS ``torch.add(x, y, alpha=0, out=view)`` took a short cut that replaced the handle (seen in the source of
1.13); the caller's tensor kept what it held.
"""

import pytest
import torch
from repro.layouts import CONTIGUOUS, layouts_for
from repro.outputs import check_inplace, check_out, normal

REPRODUCER = {
    "group": "mps_outputs",
    "title": "short cuts that drop the output",
    "ops": ["add.out", "sub.out", "add_.Tensor", "mul.out", "sum.IntList_out", "cat.out"],
    "references": [],
    "broken": "unknown",
    "fixed": "unknown",
    "macos": "all",
    "faults": ["dropped", "lost"],
}

X, Y = normal(4, 6), normal(4, 6, seed=1)
ALL = pytest.mark.parametrize(
    "layout",
    [
        *layouts_for(2),
        pytest.param(
            CONTIGUOUS,
            marks=pytest.mark.survives("lost", "a contiguous output is not gathered; here only a dropped handle fails"),
        ),
    ],
    ids=str,
)
SHORT_CUTS = {
    "add_alpha_0": (lambda x, y, out: torch.add(x, y, alpha=0, out=out), [X, Y]),
    "sub_alpha_0": (lambda x, y, out: torch.sub(x, y, alpha=0, out=out), [X, Y]),
    "mul_by_1": (lambda x, out: torch.mul(x, 1, out=out), [X]),
    "sum_over_one_row": (lambda x, out: torch.sum(x, 0, out=out), [X.reshape(1, 4, 6)]),
    "cat_of_one": (lambda x, out: torch.cat([x], out=out), [X]),
    "cat_with_empty": (lambda x, out: torch.cat([x, x[:0]], out=out), [X]),
}


@pytest.mark.parametrize("name", sorted(SHORT_CUTS))
@ALL
def test_out(name, layout, device):
    op, inputs = SHORT_CUTS[name]
    check_out(op, inputs, layout, device)


@ALL
def test_in_place_with_alpha_0_keeps_the_alias(layout, device):
    check_inplace(lambda out, y: out.add_(y, alpha=0).add_(1), X, [Y], layout, device)
