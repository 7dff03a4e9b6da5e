"""Backward formulas whose gradient is allocated with the strides of a transposed input.

``sigmoid_backward(g.t(), y.t())`` allocates a transposed result (TensorIterator keeps the strides of permuted
inputs); a kernel that then writes into a gathered temporary returns uninitialised memory as a gradient.
"""

import pytest
import torch
import torch.nn.functional as F
from repro.layouts import dense_layouts, each_layout
from repro.outputs import check_backward, check_out, normal

REPRODUCER = {
    "group": "mps_outputs",
    "title": "gradients with transposed strides",
    "ops": [
        "sigmoid_backward",
        "tanh_backward",
        "threshold_backward",
        "gelu_backward",
        "silu_backward",
        "elu_backward",
        "softplus_backward",
        "leaky_relu_backward",
        "hardtanh_backward",
        "mish_backward",
        "hardswish_backward",
        "hardsigmoid_backward",
        "logit_backward",
    ],
    "references": [],
    "broken": "unknown",
    "fixed": "unknown",
    "macos": "<15",
    "faults": ["lost", "misplaced", "garbage", "restrided"],
}

X, G = normal(4, 6), normal(4, 6, seed=1)
FORWARD = {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": torch.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "elu": F.elu,
    "softplus": F.softplus,
    "leaky_relu": F.leaky_relu,
    "hardtanh": F.hardtanh,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
}
aten = torch.ops.aten
nn = torch._C._nn
FORMULAS = {
    "sigmoid_backward": lambda g, y: aten.sigmoid_backward(g, y),
    "tanh_backward": lambda g, y: aten.tanh_backward(g, y),
    "threshold_backward": lambda g, y: aten.threshold_backward(g, y, 0.0),
    "softplus_backward": lambda g, y: aten.softplus_backward(g, y, 1, 20),
    "leaky_relu_backward": lambda g, y: aten.leaky_relu_backward(g, y, 0.1, False),
}
GRAD_INPUT = {
    "sigmoid_backward": aten.sigmoid_backward.grad_input,
    "tanh_backward": aten.tanh_backward.grad_input,
}


@pytest.mark.parametrize("name", sorted(FORWARD))
@dense_layouts(2)
def test_gradient(name, layout, device):
    check_backward(FORWARD[name], [X], layout, device)


@pytest.mark.parametrize("name", sorted(FORWARD))
@dense_layouts(4)
def test_gradient_of_four_dimensions(name, layout, device):
    check_backward(FORWARD[name], [normal(2, 3, 4, 5)], layout, device)


@pytest.mark.parametrize("name", sorted(FORMULAS))
@dense_layouts(2)
def test_formula(name, layout, device):
    from repro.outputs import check_functional

    check_functional(FORMULAS[name], [G, torch.sigmoid(X)], layout, device)


@pytest.mark.parametrize("name", sorted(GRAD_INPUT))
@each_layout(2)
def test_grad_input(name, layout, device):
    def formula(g, y, out):
        return FORMULAS[name](g, y) if out is None else GRAD_INPUT[name](g, y, grad_input=out)

    check_out(formula, [G, torch.sigmoid(X)], layout, device)
