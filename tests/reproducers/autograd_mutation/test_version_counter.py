"""The version counter: shared by ``detach`` and views, and the error when a saved tensor was changed."""

import pytest
import torch

REPRODUCER = {
    "group": "autograd_mutation",
    "title": "the version counter guards saved tensors",
    "ops": ["mul_.Tensor", "detach"],
    "references": [],
    "broken": "never",
    "fixed": "never",
    "macos": "all",
}

CHANGED = "modified by an inplace operation"


def test_an_in_place_operator_counts(device):
    x = torch.ones(3, device=device)
    before = x._version
    x.mul_(2)
    x[0] = 5
    assert x._version == before + 2


def test_detach_shares_the_counter(device):
    x = torch.ones(3, device=device, requires_grad=True) * 1
    before = x._version
    x.detach().mul_(2)
    assert x._version == before + 1


def test_data_does_not(device):
    x = torch.ones(3, device=device, requires_grad=True) * 1
    before = x._version
    x.data.mul_(2)
    assert x._version == before


def test_a_saved_tensor_changed_through_detach_is_an_error(device):
    x = torch.ones(3, device=device, requires_grad=True)
    y = x.exp()
    y.detach().mul_(2)
    with pytest.raises(RuntimeError, match=CHANGED):
        y.sum().backward()


def test_a_saved_tensor_changed_through_a_strided_view_is_an_error(device):
    x = torch.ones(4, 6, device=device, requires_grad=True)
    y = x.exp()
    y.detach().t()[::2].mul_(2)
    with pytest.raises(RuntimeError, match=CHANGED):
        y.sum().backward()


def test_changing_what_was_not_saved_is_fine(device):
    x = torch.ones(3, device=device, requires_grad=True)
    y = x + 1
    y.detach().mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_changing_data_behind_autograd_gives_a_wrong_gradient_without_an_error(device):
    x = torch.zeros(3, device=device, requires_grad=True)
    y = x.exp()
    y.data.mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
