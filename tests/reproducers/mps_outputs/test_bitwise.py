"""Bitwise operators on integers: hand-written Metal kernels that ignored strides, on macOS 15 too
(pytorch#146085)."""

import pytest
import torch
from repro.layouts import each_layout
from repro.outputs import check_inplace, check_out

REPRODUCER = {
    "group": "mps_outputs",
    "title": "bitwise operators with a non-contiguous output",
    "ops": [
        "bitwise_and.Tensor_out",
        "bitwise_or.Tensor_out",
        "bitwise_xor.Tensor_out",
        "bitwise_not.out",
        "bitwise_left_shift.Tensor_out",
        "bitwise_right_shift.Tensor_out",
        "bitwise_and_.Tensor",
    ],
    "references": ["pytorch#146085"],
    "broken": "unknown",
    "fixed": "unknown",
    "macos": "all",
    "faults": ["lost", "misplaced", "garbage", "restrided"],
}

A = torch.arange(24, dtype=torch.int32).reshape(4, 6) * 7 + 3
B = torch.arange(24, dtype=torch.int32).flip(0).reshape(4, 6) % 5
BINARY = ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"]


@pytest.mark.parametrize("name", BINARY)
@each_layout(2)
def test_out(name, layout, device):
    check_out(lambda a, b, out: getattr(torch, name)(a, b, out=out), [A, B], layout, device)


@pytest.mark.parametrize("name", BINARY)
@each_layout(2)
def test_in_place(name, layout, device):
    check_inplace(lambda out, b: getattr(out, name + "_")(b), A, [B], layout, device)


@each_layout(2)
def test_bitwise_not_out(layout, device):
    check_out(lambda a, out: torch.bitwise_not(a, out=out), [A], layout, device)
