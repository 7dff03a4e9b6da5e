"""Non-contiguous views made on the device by slicing a contiguous base, as a user's own code makes them.

Moving a strided CPU tensor with ``.to(device)`` would lose the gaps, so each layout says how large the
contiguous base is and how the view is cut from it; only the base ever travels between devices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Tuple

import pytest
import torch

Shape = Tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """One way to cut a view of a given shape from a contiguous base.

    Args:
        name: shown in the test's id.
        base_shape: the contiguous base's shape for a wanted view shape.
        cut: takes the base, gives the view; runs on any device and copies nothing.
        recipe: the same in one line of code, for a bug report.
        dims: smallest and largest number of dimensions the layout is for.
        gaps: whether the base has cells that the view does not cover.
    """

    name: str
    base_shape: Callable[[Shape], Shape]
    cut: Callable[[torch.Tensor], torch.Tensor]
    recipe: str
    dims: tuple[int, int] = (1, 9)
    gaps: bool = True

    def __str__(self) -> str:
        return self.name


def _channels_last_base(shape: Shape) -> Shape:
    return (shape[0], *shape[2:], shape[1])


CONTIGUOUS = Layout("contiguous", lambda s: s, lambda b: b, "view = base", gaps=False)
TRANSPOSED = Layout(
    "transposed",
    lambda s: (*s[:-2], s[-1], s[-2]),
    lambda b: b.transpose(-1, -2),
    "view = base.transpose(-1, -2)",
    dims=(2, 9),
    gaps=False,
)
EVERY_OTHER = Layout("every_other", lambda s: (*s[:-1], 2 * s[-1]), lambda b: b[..., ::2], "view = base[..., ::2]")
EVERY_OTHER_FROM_1 = Layout(
    "every_other_from_1", lambda s: (*s[:-1], 2 * s[-1]), lambda b: b[..., 1::2], "view = base[..., 1::2]"
)
OFFSET = Layout("offset", lambda s: (s[0] + 1, *s[1:]), lambda b: b[1:], "view = base[1:]")
COLUMNS = Layout(
    "columns", lambda s: (*s[:-1], s[-1] + 3), lambda b: b[..., 2:-1], "view = base[..., 2:-1]", dims=(2, 9)
)
PERMUTED = Layout(
    "permuted",
    lambda s: (*s[1:], s[0]),
    lambda b: b.permute(b.dim() - 1, *range(b.dim() - 1)),
    "view = base.permute(-1, 0, 1)",
    dims=(3, 9),
    gaps=False,
)
CHANNELS_LAST = Layout(
    "channels_last",
    _channels_last_base,
    lambda b: b.permute(0, b.dim() - 1, *range(1, b.dim() - 1)),
    "view = base.permute(0, 3, 1, 2)  # channels_last",
    dims=(4, 4),
    gaps=False,
)
MIXED = Layout(
    "mixed",
    lambda s: (2 * s[-1] + 1, *s[:-1]),
    lambda b: b[1::2].permute(*range(1, b.dim()), 0),
    "view = base[1::2].movedim(0, -1)  # moved, stepped and offset",
    dims=(2, 9),
)

STRIDED = (
    TRANSPOSED,
    EVERY_OTHER,
    EVERY_OTHER_FROM_1,
    OFFSET,
    COLUMNS,
    PERMUTED,
    CHANNELS_LAST,
    MIXED,
)


def layouts_for(dims: int) -> list[Layout]:
    """The non-contiguous or offset layouts that exist for tensors of ``dims`` dimensions."""
    return [layout for layout in STRIDED if layout.dims[0] <= dims <= layout.dims[1]]


def each_layout(dims: int, leave_out: tuple[Layout, ...] = ()) -> pytest.MarkDecorator:
    """Parametrise a test over every layout of ``dims`` dimensions, with the contiguous one as a control.

    The control has to pass with a healthy backend and with a faulty one.
    """
    params = [pytest.param(layout, id=str(layout)) for layout in layouts_for(dims) if layout not in leave_out]
    params.append(pytest.param(CONTIGUOUS, id="contiguous", marks=pytest.mark.control))
    return pytest.mark.parametrize("layout", params)


def dense_layouts(dims: int) -> pytest.MarkDecorator:
    """Parametrise over the layouts that a fresh result can inherit: non-contiguous, without gaps."""
    params = [pytest.param(layout, id=str(layout)) for layout in layouts_for(dims) if not layout.gaps]
    params.append(pytest.param(CONTIGUOUS, id="contiguous", marks=pytest.mark.control))
    return pytest.mark.parametrize("layout", params)
