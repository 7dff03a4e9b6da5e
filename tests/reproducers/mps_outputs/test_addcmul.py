"""addcmul and addcdiv lose a non-contiguous output on MPS up to torch 2.3.

The heart of every Adam step. Reported as pytorch#118115, fixed for in-place and ``out=`` in 2.4 by
pytorch#124442.
"""

import torch
from repro.layouts import EVERY_OTHER, TRANSPOSED, each_layout
from repro.outputs import check_inplace, check_out, normal, positive

REPRODUCER = {
    "group": "mps_outputs",
    "title": "addcmul and addcdiv into a non-contiguous output",
    "ops": ["addcmul_", "addcmul.out", "addcdiv_", "addcdiv.out"],
    "references": ["pytorch#118115", "pytorch#124442"],
    "broken": "<2.4",
    "fixed": "2.4",
    "macos": "all",
    "faults": ["lost", "misplaced", "garbage", "restrided", "lost-views"],
}

START, A, B = normal(4, 6), normal(4, 6, seed=1), positive(4, 6)


@each_layout(2)
def test_addcmul_in_place(layout, device):
    check_inplace(lambda out, a, b: out.addcmul_(a, b, value=0.5), START, [A, B], layout, device)


@each_layout(2)
def test_addcdiv_in_place(layout, device):
    check_inplace(lambda out, a, b: out.addcdiv_(a, b, value=0.5), START, [A, B], layout, device)


@each_layout(2)
def test_addcmul_out(layout, device):
    check_out(lambda s, a, b, out: torch.addcmul(s, a, b, value=0.5, out=out), [START, A, B], layout, device)


@each_layout(2)
def test_addcdiv_out(layout, device):
    check_out(lambda s, a, b, out: torch.addcdiv(s, a, b, value=0.5, out=out), [START, A, B], layout, device)


@each_layout(2)
def test_addcmul_in_place_with_transposed_inputs(layout, device):
    check_inplace(lambda out, a, b: out.addcmul_(a, b), START, [A, B], layout, device, input_layout=TRANSPOSED)


@each_layout(2)
def test_addcdiv_out_with_stepped_inputs(layout, device):
    check_out(
        lambda s, a, b, out: torch.addcdiv(s, a, b, out=out),
        [START, A, B],
        layout,
        device,
        input_layout=EVERY_OTHER,
    )


@each_layout(2)
def test_addcmul_out_of_broadcast_inputs(layout, device):
    row, column = normal(6, seed=2), normal(4, 1, seed=3)
    check_out(lambda s, a, b, out: torch.addcmul(s, a, b, out=out), [START, row, column], layout, device)
