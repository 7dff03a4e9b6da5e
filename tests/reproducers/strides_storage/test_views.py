"""Views share storage; sizes, strides and offsets follow arithmetic that anyone can redo."""

import pytest
import torch

REPRODUCER = {
    "group": "strides_storage",
    "title": "views, strides and offsets",
    "ops": ["as_strided", "clone", "empty_like", "resize_"],
    "references": [],
    "broken": "never",
    "fixed": "never",
    "macos": "all",
}

# name, view of a contiguous 4 x 6 tensor, sizes, strides, offset
VIEWS = [
    ("transpose", lambda b: b.t(), (6, 4), (1, 6), 0),
    ("row", lambda b: b[2], (6,), (1,), 12),
    ("column", lambda b: b[:, 3], (4,), (6,), 3),
    ("step", lambda b: b[:, ::2], (4, 3), (6, 2), 0),
    ("step_from_1", lambda b: b[:, 1::2], (4, 3), (6, 2), 1),
    ("block", lambda b: b[1:3, 2:5], (2, 3), (6, 1), 8),
    ("expand", lambda b: b[:, :1].expand(4, 5), (4, 5), (6, 0), 0),
    ("unfold", lambda b: b.unfold(1, 3, 2), (4, 2, 3), (6, 2, 1), 0),
    ("diagonal", lambda b: b.diagonal(1), (4,), (7,), 1),
    ("view", lambda b: b.view(2, 2, 6), (2, 2, 6), (12, 6, 1), 0),
    ("narrow_of_transpose", lambda b: b.t().narrow(0, 2, 3), (3, 4), (1, 6), 2),
    ("unsqueeze", lambda b: b.unsqueeze(1), (4, 1, 6), (6, 6, 1), 0),
]


def base(device):
    return torch.arange(24.0).reshape(4, 6).to(device)


@pytest.mark.parametrize("cut,size,stride,offset", [v[1:] for v in VIEWS], ids=[v[0] for v in VIEWS])
def test_arithmetic(cut, size, stride, offset, device):
    whole = base(device)
    view = cut(whole)
    assert (tuple(view.shape), view.stride(), view.storage_offset()) == (size, stride, offset)
    assert view.data_ptr() == whole.data_ptr() + offset * whole.element_size()
    first = view.flatten()[0]
    assert float(first) == float(offset)


@pytest.mark.parametrize(
    "cut", [v[1] for v in VIEWS if v[0] != "expand"], ids=[v[0] for v in VIEWS if v[0] != "expand"]
)
def test_a_write_to_the_view_is_a_write_to_the_base(cut, device):
    whole = base(device)
    cut(whole).fill_(-1.0)
    expected = base("cpu")
    cut(expected).fill_(-1.0)
    assert torch.equal(whole.cpu(), expected)


@pytest.mark.parametrize("cut", [v[1] for v in VIEWS], ids=[v[0] for v in VIEWS])
def test_reading_the_view_gives_the_cells_it_covers(cut, device):
    assert torch.equal(cut(base(device)).cpu(), cut(base("cpu")))


def test_view_refuses_what_strides_cannot_say(device):
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        base(device).t().view(24)


def test_reshape_copies_only_where_it_must(device):
    whole = base(device)
    assert whole.reshape(24).data_ptr() == whole.data_ptr()
    assert whole.t().reshape(24).data_ptr() != whole.data_ptr()
