"""Softmax into a view. The public ``out=`` forms protect themselves; the kernels' own ``_softmax.out`` do
not."""

import pytest
import torch
from repro.layouts import dense_layouts, each_layout
from repro.outputs import check_functional, check_out, normal

REPRODUCER = {
    "group": "mps_outputs",
    "title": "softmax with a non-contiguous output",
    "ops": [
        "_softmax.out",
        "_log_softmax.out",
        "_softmax",
        "_log_softmax",
        "softmax.int_out",
        "log_softmax.int_out",
    ],
    "references": [],
    "broken": "unknown",
    "fixed": "unknown",
    "macos": "<15",
    "faults": ["lost", "misplaced", "garbage", "restrided"],
}

X = normal(4, 6)
aten = torch.ops.aten
KERNELS = {
    "_softmax": (aten._softmax.default, aten._softmax.out),
    "_log_softmax": (aten._log_softmax.default, aten._log_softmax.out),
}
PUBLIC = {"softmax": torch.softmax, "log_softmax": torch.log_softmax}


@pytest.mark.parametrize("name", sorted(KERNELS))
@each_layout(2)
def test_kernel_out(name, layout, device):
    functional, into = KERNELS[name]
    check_out(
        lambda x, out: functional(x, 1, False) if out is None else into(x, 1, False, out=out),
        [X],
        layout,
        device,
    )


@pytest.mark.parametrize("name", sorted(PUBLIC))
@dense_layouts(2)
@pytest.mark.control
def test_fresh_result(name, layout, device):
    check_functional(lambda x: PUBLIC[name](x, 0), [X], layout, device)
