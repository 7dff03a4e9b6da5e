"""Ranges into a view: arange, linspace, logspace, eye and range write a caller's strided tensor."""

import pytest
import torch
from repro.layouts import each_layout
from repro.outputs import check_out

REPRODUCER = {
    "group": "mps_outputs",
    "title": "ranges into a non-contiguous output",
    "ops": ["arange.start_out", "arange.out", "linspace.out", "logspace.out", "eye.out", "eye.m_out"],
    "references": [],
    "broken": "unknown",
    "fixed": "unknown",
    "macos": "<15",
    "faults": ["lost", "misplaced", "garbage", "restrided"],
}

ONE = {
    "arange": lambda out: torch.arange(3, 15, 2, out=out) if out is not None else torch.arange(3, 15, 2),
    "linspace": lambda out: torch.linspace(0.5, 2, 7, out=out),
    "logspace": lambda out: torch.logspace(0.5, 2, 7, out=out),
}


@pytest.mark.parametrize("name", sorted(ONE))
@each_layout(1)
def test_out(name, layout, device):
    check_out(ONE[name], [], layout, device)


@each_layout(2)
def test_eye(layout, device):
    check_out(lambda out: torch.eye(4, 6, out=out), [], layout, device)
