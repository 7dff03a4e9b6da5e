"""Gradients through mutated views: against finite differences, twice, and on non-contiguous inputs.

Finite differences need float64, which MPS lacks; there the float32 gradient is compared with the CPU's.
"""

import pytest
import torch
from repro.layouts import each_layout
from repro.outputs import normal, place

REPRODUCER = {
    "group": "autograd_mutation",
    "title": "gradients through mutated views",
    "ops": ["mul_.Tensor", "copy_", "index_add_", "addcmul_"],
    "references": [],
    "broken": "never",
    "fixed": "never",
    "macos": "all",
}


def scale_a_row(x):
    y = x * x
    y[1].mul_(3)
    return y


def write_a_transposed_view(x):
    y = torch.zeros_like(x)
    y.t()[::2] = (x * x).t()[::2]
    return y


def chain_of_views(x):
    y = x.sin()
    inner = y.t()[1:]
    inner.mul_(inner.detach() + 2)
    inner[0].add_(1)
    return y * x


def addcmul_into_a_view(x):
    y = x.cos()
    y.t()[1:].addcmul_(x.t()[1:], x.t()[:-1], value=0.5)
    return y


def index_add_into_a_view(x):
    y = x.clone()
    y.t().index_add_(0, torch.tensor([1, 0], device=x.device), (x * x).t()[:2])
    return y


FUNCTIONS = [scale_a_row, write_a_transposed_view, chain_of_views, addcmul_into_a_view, index_add_into_a_view]
TWICE = [scale_a_row, write_a_transposed_view, addcmul_into_a_view]


def gradient(function, x, seed=9):
    leaf = x.detach().requires_grad_()
    out = function(leaf)
    (grad,) = torch.autograd.grad(out, leaf, normal(*out.shape, seed=seed).to(out.device, out.dtype))
    return grad.cpu()


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@each_layout(2)
def test_gradient(function, layout, device):
    values = normal(4, 3)
    if device.type == "mps":
        assert torch.allclose(
            gradient(function, place(values, layout, device)),
            gradient(function, values),
            rtol=1e-4,
            atol=1e-5,
        )
    else:
        x = place(values.double(), layout, device).requires_grad_()
        if function is not chain_of_views:  # its detach() hides a dependence that finite differences see
            assert torch.autograd.gradcheck(function, (x,))
        assert torch.allclose(gradient(function, x), gradient(function, values.double()))


@pytest.mark.parametrize("function", TWICE, ids=lambda f: f.__name__)
def test_double_backward(function, device):
    if device.type == "mps":
        leaf = normal(4, 3).to(device).requires_grad_()
        twin = normal(4, 3).requires_grad_()
        assert torch.allclose(second(function, leaf), second(function, twin), rtol=1e-4, atol=1e-5)
    else:
        leaf = normal(4, 3).double().to(device).requires_grad_()
        assert torch.autograd.gradgradcheck(function, (leaf,))


def second(function, leaf):
    (first,) = torch.autograd.grad(function(leaf).pow(2).sum(), leaf, create_graph=True)
    return torch.autograd.grad(first.pow(2).sum(), leaf)[0].cpu()


def test_accumulated_gradient_takes_the_layout_of_its_parameter(device):
    weight = torch.ones(6, 4, device=device).t().clone().requires_grad_()
    (weight * 2).sum().backward()
    assert weight.grad.stride() == weight.stride() == (1, 4)


def test_second_backward_adds_to_a_transposed_gradient(device):
    weight = torch.ones(6, 4, device=device).t().clone().requires_grad_()
    factor = normal(4, 6).to(device)
    for _ in range(2):
        (weight * factor).sum().backward()
    assert torch.allclose(weight.grad.cpu(), 2 * normal(4, 6))


def test_hook_sees_the_gradient_after_the_mutation(device):
    x = torch.ones(3, device=device, requires_grad=True)
    seen = []
    y = x * 2
    y.mul_(5)
    y.register_hook(lambda grad: seen.append(grad.tolist()))
    y.sum().backward()
    assert seen == [[1.0, 1.0, 1.0]]
