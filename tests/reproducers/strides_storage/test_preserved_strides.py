"""Which operations keep a tensor's strides and which make it contiguous: the ground the whole defect
stands on."""

import pytest
import torch

REPRODUCER = {
    "group": "strides_storage",
    "title": "what clone, empty_like, contiguous and resize_ do to strides",
    "ops": ["clone", "empty_like", "contiguous", "resize_"],
    "references": [],
    "broken": "never",
    "fixed": "never",
    "macos": "all",
}

MAKERS = {
    "clone": torch.clone,
    "empty_like": torch.empty_like,
    "zeros_like": torch.zeros_like,
    "full_like": lambda t: torch.full_like(t, 2.0),
    "rand_like": torch.rand_like,
    "add": lambda t: t + 1,
    "double_transposes": lambda t: t.t().clone().t(),
    "to_half": lambda t: t.to(torch.float16),
}


def transposed(device):
    return torch.arange(24.0).reshape(6, 4).to(device).t()


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_a_dense_transposed_tensor_keeps_its_strides(name, device):
    assert MAKERS[name](transposed(device)).stride() == (1, 4)


@pytest.mark.parametrize("name", ["clone", "empty_like", "zeros_like"])
def test_a_view_with_gaps_becomes_dense(name, device):
    stepped = torch.zeros(4, 12).to(device)[:, ::2]
    assert MAKERS[name](stepped).stride() == (6, 1)


@pytest.mark.parametrize("name", ["clone", "empty_like", "zeros_like"])
def test_an_explicit_format_makes_it_contiguous(name, device):
    assert getattr(torch, name)(transposed(device), memory_format=torch.contiguous_format).is_contiguous()


def test_an_expanded_tensor_is_cloned_without_its_zero_stride(device):
    assert torch.zeros(1, 6).to(device).expand(4, 6).clone().stride() == (6, 1)


def test_contiguous_of_a_contiguous_tensor_with_an_offset_is_itself(device):
    row = torch.zeros(4, 6).to(device)[2]
    assert row.is_contiguous()
    assert row.storage_offset() == 12
    assert row.contiguous() is row or row.contiguous().data_ptr() == row.data_ptr()
    row.contiguous().fill_(3.0)
    assert row.tolist() == [3.0] * 6


def test_contiguous_of_a_transposed_tensor_is_a_copy(device):
    view = transposed(device)
    copy = view.contiguous()
    assert copy.data_ptr() != view.data_ptr()
    assert copy.stride() == (6, 1)
    assert torch.equal(copy.cpu(), transposed("cpu"))


def test_resize_to_the_same_sizes_keeps_strides(device):
    view = transposed(device)
    view.resize_(4, 6)
    assert view.stride() == (1, 4)


def test_resize_to_other_sizes_makes_contiguous_strides(device):
    tensor = torch.zeros(6, 4).to(device).t()
    tensor.resize_(3, 5)
    assert tensor.stride() == (5, 1)


def test_resize_keeps_the_storage_when_it_is_large_enough(device):
    tensor = torch.arange(24.0).to(device)
    where = tensor.data_ptr()
    tensor.resize_(2, 3)
    assert tensor.data_ptr() == where
    assert tensor.cpu().tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_channels_last_is_kept_by_clone_and_found_by_is_contiguous(device):
    image = torch.zeros(2, 3, 4, 5).to(device).contiguous(memory_format=torch.channels_last)
    assert image.stride() == (60, 1, 15, 3)
    assert not image.is_contiguous()
    assert image.clone().is_contiguous(memory_format=torch.channels_last)


def test_copy_between_layouts_moves_values_not_strides(device):
    source, target = transposed(device), torch.zeros(4, 12).to(device)[:, ::2]
    target.copy_(source)
    assert target.stride() == (12, 2)
    assert torch.equal(target.cpu(), transposed("cpu"))
