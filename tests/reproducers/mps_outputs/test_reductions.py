"""Reductions into a view: a column of a table of results, or one cell of it (0-dim with a storage offset)."""

import pytest
import torch
from repro.layouts import COLUMNS, OFFSET, each_layout
from repro.outputs import Placed, check_out, normal, positive

REPRODUCER = {
    "group": "mps_outputs",
    "title": "reductions into a non-contiguous output",
    "ops": [
        "sum.IntList_out",
        "mean.out",
        "prod.int_out",
        "amax.out",
        "amin.out",
        "argmax.out",
        "argmin.out",
        "any.out",
        "all.out",
        "std.correction_out",
        "var.correction_out",
        "norm.out",
        "linalg_vector_norm.out",
        "max.dim_max",
        "min.dim_min",
        "logsumexp.out",
        "std.out",
        "var.out",
        "max.unary_out",
        "dot.out",
        "nansum.out",
        "count_nonzero",
    ],
    "references": [],
    "broken": "unknown",
    "fixed": "unknown",
    "macos": "<15",
    "faults": ["lost", "misplaced", "garbage", "restrided"],
}

X, FEW, MOST = positive(3, 4, 6), normal(3, 4, 6) > 1, normal(3, 4, 6) > -1

OUT = {
    "sum": (lambda x, out: torch.sum(x, 1, out=out), [X]),
    "mean": (lambda x, out: torch.mean(x, 1, out=out), [X]),
    "prod": (lambda x, out: torch.prod(x, 1, out=out), [X]),
    "amax": (lambda x, out: torch.amax(x, 1, out=out), [X]),
    "amin": (lambda x, out: torch.amin(x, 1, out=out), [X]),
    "argmax": (lambda x, out: torch.argmax(x, 1, out=out), [X]),
    "argmin": (lambda x, out: torch.argmin(x, 1, out=out), [X]),
    "std": (lambda x, out: torch.std(x, 1, out=out), [X]),
    "var": (lambda x, out: torch.var(x, 1, out=out), [X]),
    "norm": (lambda x, out: torch.linalg.vector_norm(x, dim=1, out=out), [X]),
    "logsumexp": (lambda x, out: torch.logsumexp(x, 1, out=out), [X]),
    "any": (lambda x, out: torch.any(x, 1, out=out), [FEW]),
    "all": (lambda x, out: torch.all(x, 1, out=out), [MOST]),
    "max": (lambda x, out: torch.max(x, 1, out=out), [X]),
    "min": (lambda x, out: torch.min(x, 1, out=out), [X]),
}
CELL = {
    "sum": lambda x, out: torch.sum(x, (0, 1, 2), out=out),
    "mean": lambda x, out: torch.mean(x, (0, 1, 2), out=out),
    "amax": lambda x, out: torch.amax(x, (0, 1, 2), out=out),
}


@pytest.mark.parametrize("name", sorted(OUT))
@each_layout(2)
def test_out(name, layout, device):
    op, inputs = OUT[name]
    check_out(op, inputs, layout, device)


@pytest.mark.parametrize("name", ["sum", "argmax", "max"])
@each_layout(2)
def test_out_of_an_offset_input(name, layout, device):
    op, inputs = OUT[name]
    check_out(op, inputs, layout, device, input_layout=OFFSET)


@pytest.mark.parametrize("name", sorted(CELL))
def test_one_cell_of_a_table(name, device):
    table = Placed(torch.zeros(4, 6), COLUMNS, device)
    expected = torch.zeros(4, 6)
    CELL[name](X.to(device), out=table.view[2, 3])
    expected[2, 3] = CELL[name](X.clone(), out=None) if name != "sum" else X.sum()
    table.assert_ok(expected)
