"""Operators that reorder or join: sort, topk, kthvalue, cumulative forms, cat, stack (pytorch#91308),
roll, flip."""

import pytest
import torch
from repro.layouts import EVERY_OTHER, each_layout
from repro.outputs import check_out, normal

REPRODUCER = {
    "group": "mps_outputs",
    "title": "reordering and joining into a non-contiguous output",
    "ops": [
        "sort.values",
        "sort.values_stable",
        "topk.values",
        "kthvalue.values",
        "cummax.out",
        "cumsum.out",
        "cumprod.out",
        "cat.out",
        "stack.out",
        "tril.out",
        "triu.out",
        "msort.out",
        "_cummax_helper",
        "_stack.out",
    ],
    "references": ["pytorch#91308"],
    "broken": "unknown",
    "fixed": "unknown",
    "macos": "<15",
    "faults": ["lost", "misplaced", "garbage", "restrided"],
}

X, Y = normal(4, 6), normal(3, 6, seed=1)
SPREAD = X[:, torch.randperm(6, generator=torch.Generator().manual_seed(1))]

OUT = {
    "sort": (lambda x, out: torch.sort(x, dim=-1, out=out), [SPREAD]),
    "sort_stable_descending": (
        lambda x, out: torch.sort(x, dim=-1, stable=True, descending=True, out=out),
        [SPREAD],
    ),
    "topk": (lambda x, out: torch.topk(x, 3, dim=-1, out=out), [SPREAD]),
    "topk_first_dimension": (lambda x, out: torch.topk(x, 2, dim=0, out=out), [SPREAD]),
    "cumsum": (lambda x, out: torch.cumsum(x, 0, out=out), [X]),
    "cumprod": (lambda x, out: torch.cumprod(x, -1, out=out), [X]),
    "cat": (lambda x, y, out: torch.cat([x, y], 0, out=out), [X, Y]),
    "tril": (lambda x, out: torch.tril(x, out=out), [X]),
    "triu": (lambda x, out: torch.triu(x, 1, out=out), [X]),
}


@pytest.mark.parametrize("name", sorted(OUT))
@each_layout(2)
def test_out(name, layout, device):
    op, inputs = OUT[name]
    check_out(op, inputs, layout, device)


@pytest.mark.parametrize("name", ["sort", "topk", "cat", "tril"])
@each_layout(2)
def test_out_of_stepped_inputs(name, layout, device):
    op, inputs = OUT[name]
    check_out(op, inputs, layout, device, input_layout=EVERY_OTHER)


@each_layout(3)
def test_stack_out(layout, device):
    check_out(lambda x, y, out: torch.stack([x, y], 1, out=out), [X, X + 1], layout, device)
