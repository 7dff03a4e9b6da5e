"""Matrix products into a view: ``torch.matmul(a, b, out=view)`` leaves the view unchanged
(pytorch#104832)."""

import pytest
import torch
from repro.layouts import OFFSET, TRANSPOSED, each_layout
from repro.outputs import check_inplace, check_out, normal

REPRODUCER = {
    "group": "mps_outputs",
    "title": "matrix products into a non-contiguous output",
    "ops": [
        "mm.out",
        "bmm.out",
        "addmm.out",
        "addmm_",
        "addbmm.out",
        "baddbmm.out",
        "addmv.out",
        "mv.out",
        "addr.out",
        "matmul.out",
        "linear.out",
        "dot.out",
    ],
    "references": ["pytorch#104832"],
    "broken": "unknown",
    "fixed": "unknown",
    "macos": "<15",
    "faults": ["lost", "misplaced", "garbage", "restrided"],
}

A, B, C = normal(4, 5), normal(5, 6, seed=1), normal(4, 6, seed=2)
BATCH_A, BATCH_B, BATCH_C = normal(2, 4, 5), normal(2, 5, 6, seed=1), normal(2, 4, 6, seed=2)
V, W = normal(5, seed=3), normal(4, seed=4)

TWO = {
    "mm": (lambda a, b, out: torch.mm(a, b, out=out), [A, B]),
    "matmul": (lambda a, b, out: torch.matmul(a, b, out=out), [A, B]),
    "addmm": (lambda c, a, b, out: torch.addmm(c, a, b, beta=0.5, alpha=2, out=out), [C, A, B]),
    "addbmm": (lambda c, a, b, out: torch.addbmm(c, a, b, out=out), [C, BATCH_A, BATCH_B]),
    "addr": (lambda c, v, w, out: torch.addr(c, v, w, out=out), [C, W, normal(6, seed=5)]),
}
THREE = {
    "bmm": (lambda a, b, out: torch.bmm(a, b, out=out), [BATCH_A, BATCH_B]),
    "baddbmm": (lambda c, a, b, out: torch.baddbmm(c, a, b, out=out), [BATCH_C, BATCH_A, BATCH_B]),
}
ONE = {
    "mv": (lambda a, v, out: torch.mv(a, v, out=out), [A, V]),
    "matmul": (lambda a, v, out: torch.matmul(a, v, out=out), [A, V]),
    "addmv": (lambda w, a, v, out: torch.addmv(w, a, v, out=out), [W, A, V]),
}


@pytest.mark.parametrize("name", sorted(TWO))
@each_layout(2)
def test_out_of_two_dimensions(name, layout, device):
    op, inputs = TWO[name]
    check_out(op, inputs, layout, device)


@pytest.mark.parametrize("name", sorted(TWO))
@each_layout(2)
def test_out_of_transposed_inputs(name, layout, device):
    op, inputs = TWO[name]
    check_out(op, inputs, layout, device, input_layout=TRANSPOSED)


@pytest.mark.parametrize("name", sorted(THREE))
@each_layout(3)
def test_out_of_three_dimensions(name, layout, device):
    op, inputs = THREE[name]
    check_out(op, inputs, layout, device)


@pytest.mark.survives("restrided", "matmul gives its kernel an inner view; the caller's tensor keeps its strides")
@each_layout(3)
def test_matmul_out_of_three_dimensions(layout, device):
    check_out(lambda a, b, out: torch.matmul(a, b, out=out), [BATCH_A, BATCH_B], layout, device)


@pytest.mark.parametrize("name", sorted(ONE))
@each_layout(1)
def test_out_of_one_dimension(name, layout, device):
    op, inputs = ONE[name]
    check_out(op, inputs, layout, device)


@each_layout(2)
def test_addmm_in_place(layout, device):
    check_inplace(lambda out, a, b: out.addmm_(a, b), C, [A, B], layout, device, input_layout=OFFSET)
