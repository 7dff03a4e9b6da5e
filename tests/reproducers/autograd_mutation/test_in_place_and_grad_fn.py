"""What an in-place operator means to autograd: history is rebased, on the tensor, its base and its other
views."""

import pytest
import torch
from repro.layouts import each_layout
from repro.outputs import normal, place

REPRODUCER = {
    "group": "autograd_mutation",
    "title": "in-place operators rebase history",
    "ops": ["mul_.Tensor", "add_.Tensor"],
    "references": [],
    "broken": "never",
    "fixed": "never",
    "macos": "all",
}


def leaf(device, *shape):
    return torch.ones(shape, device=device, requires_grad=True)


def name_of(grad_fn):
    return type(grad_fn).__name__


def test_mul_in_place_replaces_grad_fn(device):
    x = leaf(device, 3)
    y = x + 1
    before = y.grad_fn
    y.mul_(3)
    assert name_of(before) == "AddBackward0"
    assert name_of(y.grad_fn) == "MulBackward0"
    assert y.grad_fn.next_functions[0][0] is before


def test_gradient_flows_through_both_steps(device):
    x = leaf(device, 3)
    y = x * 2
    y.mul_(5)
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0, 10.0]


def test_mutating_a_view_gives_its_base_copy_slices(device):
    x = leaf(device, 2, 3)
    base = x * 1
    base[0].mul_(4)
    assert name_of(base.grad_fn) == "CopySlices"
    base.sum().backward()
    assert x.grad.tolist() == [[4.0] * 3, [1.0] * 3]


def test_the_overwritten_branch_is_dead(device):
    x, y = leaf(device, 3), leaf(device, 3)
    base = x * 2
    base[:2] = y[:2] * 7
    base.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 2.0]
    assert y.grad.tolist() == [7.0, 7.0, 0.0]


def test_zeroing_a_branch_sends_no_gradient_through_it(device):
    x = leaf(device, 3)
    y = x * 2
    y.zero_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_a_second_alias_is_rebased_when_its_grad_fn_is_read(device):
    x = leaf(device, 2, 3)
    base = x * 1
    first, second = base[0], base.t()
    stale = second.grad_fn
    assert name_of(stale) in ("TBackward0", "TransposeBackward0")
    first.mul_(4)
    fresh = second.grad_fn
    assert fresh is not stale
    second.sum().backward()
    assert x.grad.tolist() == [[4.0] * 3, [1.0] * 3]


def test_as_strided_has_its_own_backward(device):
    x = leaf(device, 6)
    y = (x * 1).as_strided((2, 2), (3, 1), 1)
    assert name_of(y.grad_fn) == "AsStridedBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 1.0, 0.0, 1.0, 1.0]


def test_overlapping_as_strided_sums_its_gradients(device):
    x = leaf(device, 4)
    (x * 1).as_strided((3, 2), (1, 1)).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 2.0, 1.0]


def test_a_leaf_that_needs_gradients_refuses(device):
    x = leaf(device, 3)
    with pytest.raises(RuntimeError, match="leaf"):
        x.mul_(2)
    with pytest.raises(RuntimeError, match="leaf"):
        x[0].mul_(2)


def test_views_made_together_refuse_to_be_mutated(device):
    first, _ = (leaf(device, 4) * 1).split(2)
    with pytest.raises(RuntimeError, match="multiple views"):
        first.mul_(2)


@each_layout(2)
def test_a_mutated_view_of_any_layout_has_the_right_gradient(layout, device):
    start = place(normal(3, 4), layout, device).requires_grad_()
    factor = place(normal(3, 4, seed=1), layout, device).requires_grad_()
    y = start * 1
    y.mul_(factor)
    y[1:].add_(factor[:2])
    y.sum().backward()
    expected = 1 * start.detach().cpu()
    expected[:2] += 1
    assert torch.allclose(start.grad.cpu(), factor.detach().cpu())
    assert torch.allclose(factor.grad.cpu(), expected)
