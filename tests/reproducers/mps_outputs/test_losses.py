"""Losses without reduction: into ``out=``, and fresh results and gradients that keep transposed strides.

``mse_loss``: pytorch#125696.
"""

import pytest
import torch
import torch.nn.functional as F
from repro.layouts import dense_layouts, each_layout
from repro.outputs import check_backward, check_functional, check_out, normal, positive

REPRODUCER = {
    "group": "mps_outputs",
    "title": "losses with a non-contiguous output",
    "ops": [
        "mse_loss.out",
        "mse_loss",
        "mse_loss_backward",
        "smooth_l1_loss.out",
        "smooth_l1_loss",
        "smooth_l1_loss_backward.grad_input",
        "huber_loss.out",
        "huber_loss",
        "huber_loss_backward.out",
        "binary_cross_entropy.out",
        "binary_cross_entropy",
        "binary_cross_entropy_backward",
        "soft_margin_loss.out",
        "soft_margin_loss",
        "soft_margin_loss_backward",
    ],
    "references": ["pytorch#125696"],
    "broken": "unknown",
    "fixed": "unknown",
    "macos": "<15",
    "faults": ["lost", "misplaced", "garbage", "restrided"],
}

A, B = positive(4, 6), positive(4, 6, seed=1)
NONE = 0
nn = torch._C._nn

OUT = {
    "mse_loss": lambda a, b, out: nn.mse_loss(a, b, NONE, out=out),
    "smooth_l1_loss": lambda a, b, out: nn.smooth_l1_loss(a, b, NONE, out=out),
    "huber_loss": lambda a, b, out: nn.huber_loss(a, b, NONE, out=out),
    "binary_cross_entropy": lambda a, b, out: nn.binary_cross_entropy(a, b, None, NONE, out=out),
    "soft_margin_loss": lambda a, b, out: nn.soft_margin_loss(a, b, NONE, out=out),
}
LOSSES = {
    "mse_loss": F.mse_loss,
    "smooth_l1_loss": F.smooth_l1_loss,
    "huber_loss": F.huber_loss,
    "binary_cross_entropy": F.binary_cross_entropy,
}


@pytest.mark.parametrize("name", sorted(OUT))
@each_layout(2)
def test_out(name, layout, device):
    check_out(OUT[name], [A, B], layout, device)


@pytest.mark.parametrize("name", sorted(LOSSES))
@dense_layouts(2)
def test_fresh_result(name, layout, device):
    check_functional(lambda a, b: LOSSES[name](a, b, reduction="none"), [A, B], layout, device)


def check_gradient(name, layout, device):
    check_backward(
        lambda a: LOSSES[name](a, B.to(a.device), reduction="none"), [normal(4, 6).sigmoid()], layout, device
    )


@dense_layouts(2)
def test_gradient_with_the_strides_of_the_input(layout, device):
    check_gradient("binary_cross_entropy", layout, device)


@pytest.mark.control
@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "huber_loss"])
@dense_layouts(2)
def test_gradient_that_is_always_contiguous(name, layout, device):
    check_gradient(name, layout, device)
