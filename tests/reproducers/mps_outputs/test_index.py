"""Operators that change a tensor at indices: into a non-contiguous tensor.

``index_add_`` was repaired by pytorch#176171 and ``masked_fill_`` by pytorch#131957.
"""

import pytest
import torch
from repro.layouts import EVERY_OTHER, each_layout
from repro.outputs import check_inplace, check_out, normal, positive

REPRODUCER = {
    "group": "mps_outputs",
    "title": "indexed writes into a non-contiguous tensor",
    "ops": [
        "index_add_",
        "index_add.out",
        "index_copy_",
        "index_fill_",
        "masked_fill_",
        "scatter_",
        "scatter_add_",
        "scatter.src_out",
        "gather.out",
        "index_select.out",
        "index_put_",
        "_index_put_impl_",
        "masked_scatter_",
        "take.out",
    ],
    "references": ["pytorch#176171", "pytorch#131957"],
    "broken": "unknown",
    "fixed": "unknown",
    "macos": "<15",
    "faults": ["lost", "misplaced", "garbage", "restrided"],
}

START, SOURCE, ROWS = normal(4, 6), normal(3, 6, seed=1), torch.tensor([2, 0, 3])
INDEX = torch.tensor([[0, 1, 2, 3, 0, 1], [3, 2, 1, 0, 1, 2]])
MASK = positive(4, 6) > 0.5

IN_PLACE = {
    "index_add": (lambda out, i, s: out.index_add_(0, i, s, alpha=0.5), [ROWS, SOURCE]),
    "index_copy": (lambda out, i, s: out.index_copy_(0, i, s), [ROWS, SOURCE]),
    "index_fill": (lambda out, i: out.index_fill_(0, i, 9.0), [ROWS]),
    "index_put": (lambda out, i, s: out.index_put_((i,), s), [ROWS, SOURCE]),
    "setitem": (lambda out, i, s: out.__setitem__(i, s), [ROWS, SOURCE]),
    "masked_fill": (lambda out, m: out.masked_fill_(m, 9.0), [MASK]),
    "masked_scatter": (lambda out, m, s: out.masked_scatter_(m, s), [MASK, normal(4, 6, seed=5)]),
    "scatter": (lambda out, i, s: out.scatter_(0, i, s), [INDEX, SOURCE]),
    "scatter_value": (lambda out, i: out.scatter_(0, i, 9.0), [INDEX]),
    "scatter_add": (lambda out, i, s: out.scatter_add_(0, i, s), [INDEX, SOURCE]),
}
OUT = {
    "index_add": (lambda t, i, s, out: torch.index_add(t, 0, i, s, out=out), [START, ROWS, SOURCE]),
    "index_select": (lambda t, i, out: torch.index_select(t, 0, i, out=out), [START, ROWS]),
    "gather": (lambda t, i, out: torch.gather(t, 0, i, out=out), [START, INDEX]),
    "scatter": (lambda t, i, s, out: torch.scatter(t, 0, i, s, out=out), [START, INDEX, SOURCE]),
    "take": (lambda t, i, out: torch.take(t, i, out=out), [START, INDEX]),
}


@pytest.mark.parametrize("name", sorted(IN_PLACE))
@each_layout(2)
def test_in_place(name, layout, device):
    op, inputs = IN_PLACE[name]
    check_inplace(op, START, inputs, layout, device)


@pytest.mark.parametrize("name", ["index_add", "scatter_add"])
@each_layout(2)
def test_in_place_from_a_stepped_source(name, layout, device):
    op, inputs = IN_PLACE[name]
    check_inplace(op, START, inputs, layout, device, input_layout=EVERY_OTHER)


@pytest.mark.parametrize("name", sorted(OUT))
@each_layout(2)
def test_out(name, layout, device):
    op, inputs = OUT[name]
    check_out(op, inputs, layout, device)
