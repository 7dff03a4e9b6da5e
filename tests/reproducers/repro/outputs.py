"""Checks an operator's output against the CPU's, cell by cell, in a base filled with a sentinel.

A write to a view can go wrong in three ways that look alike to a caller who only compares values: it never
arrives (``lost``), it lands in other cells of the buffer (``misplaced``), or something else arrives
(``garbage``). The gaps between the view's cells hold a sentinel, which tells the first two apart.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Iterator, Sequence

import pytest
import torch

from repro import faults, record
from repro.layouts import CONTIGUOUS, Layout, Shape

OK = "ok"
LOST = "lost"
MISPLACED = "misplaced"
GARBAGE = "garbage"
RESTRIDED = "restrided"


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    """Standard normal values on the CPU, the same in every run."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(1000 + seed))


def positive(*shape: int, seed: int = 0) -> torch.Tensor:
    """Values in (0.1, 0.9) on the CPU: inside the domain of logarithms, roots and probabilities."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(2000 + seed)) * 0.8 + 0.1


def sentinel(dtype: torch.dtype) -> Any:
    """A value that no operator of the suite computes."""
    if dtype == torch.bool:
        return True
    return -777.0 if dtype.is_floating_point or dtype.is_complex else -77


def tolerance(dtype: torch.dtype) -> tuple[float, float]:
    """Relative and absolute tolerance for comparing two backends."""
    if dtype in (torch.float16, torch.bfloat16):
        return 2e-2, 2e-2
    return 1e-4, 1e-5


def same(actual: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether two CPU tensors hold the same values, within the tolerance of their dtype."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    if not (expected.dtype.is_floating_point or expected.dtype.is_complex):
        return bool(torch.equal(actual, expected))
    rtol, atol = tolerance(expected.dtype)
    return bool(torch.allclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True))


class Placed:
    """A view on the device, cut from a base whose other cells hold the sentinel.

    Args:
        values: what the view's cells hold at first (CPU).
        layout: how the view is cut.
        device: where the base lives.
    """

    def __init__(self, values: torch.Tensor, layout: Layout, device: torch.device) -> None:
        shape = tuple(values.shape)
        with faults.reference():
            base = torch.full(layout.base_shape(shape), sentinel(values.dtype), dtype=values.dtype)
            layout.cut(base).copy_(values)
            inside = torch.zeros(base.shape, dtype=torch.bool)
            layout.cut(inside).fill_(True)
            self.before = base.clone()
        self.layout = layout
        self.gaps = ~inside
        self.base = base.to(device)
        self.view = layout.cut(self.base)
        self.strides = self.view.stride()
        self.offset = self.view.storage_offset()

    def verdict(self, expected: torch.Tensor) -> tuple[str, str]:
        """What became of a write of ``expected`` to the view: the verdict, and the evidence in words."""
        return self._judge(lambda values: same(values, expected), dense=expected)

    def verdict_by(self, holds: Callable[[torch.Tensor], bool]) -> tuple[str, str]:
        """The same for values that only a predicate can judge, such as random ones."""
        return self._judge(holds, dense=None)

    def _judge(self, holds: Callable[[torch.Tensor], bool], dense: torch.Tensor | None) -> tuple[str, str]:
        if (self.view.stride(), self.view.storage_offset()) != (self.strides, self.offset):
            return RESTRIDED, f"strides {self.strides} became {self.view.stride()}"
        with faults.reference():
            return self._judge_base(self.base.cpu(), holds, dense)

    def _judge_base(
        self, after: torch.Tensor, holds: Callable[[torch.Tensor], bool], dense: torch.Tensor | None
    ) -> tuple[str, str]:
        touched = after[self.gaps] != self.before[self.gaps]
        values = self.layout.cut(after)
        if bool(touched.any()):
            return MISPLACED, f"{int(touched.sum())} of {touched.numel()} gap cells were written"
        if holds(values):
            return OK, ""
        if torch.equal(after, self.before):
            return LOST, "the view still holds what it held before"
        if dense is not None and same(after.flatten()[: dense.numel()], dense.flatten()):
            return MISPLACED, "the right values, written densely from the start of the buffer"
        wrong = int((values != dense).sum()) if dense is not None else values.numel()
        return GARBAGE, f"{wrong} of {values.numel()} cells differ from the CPU"

    def assert_ok(self, expected: torch.Tensor, what: str = "output") -> None:
        self.raise_unless_ok(self.verdict(expected), what)

    def raise_unless_ok(self, verdict: tuple[str, str], what: str) -> None:
        name, evidence = verdict
        record.verdict(name)
        assert name == OK, (
            f"{what} is {name}: {evidence}\n"
            f"    base = torch.full({tuple(self.base.shape)}, {sentinel(self.base.dtype)}, "
            f"device={str(self.base.device)!r})\n"
            f"    {self.layout.recipe}    # shape {tuple(self.view.shape)}, "
            f"strides {tuple(self.strides)}, storage offset {self.offset}"
        )


@contextmanager
def may_refuse(device: torch.device) -> Iterator[None]:
    """Turn the device's "not implemented" into a skip: old releases have no MPS kernel for many operators."""
    try:
        yield
    except NotImplementedError as refusal:
        if device.type == "cpu":
            raise
        pytest.skip(f"{device.type} has no kernel: {str(refusal).splitlines()[0][:100]}")


def place(values: torch.Tensor, layout: Layout, device: torch.device) -> torch.Tensor:
    """The values on the device as a view of the given layout."""
    return Placed(values, layout, device).view


def _tuple(result: Any) -> tuple[torch.Tensor, ...]:
    return (result,) if isinstance(result, torch.Tensor) else tuple(result)


def _inputs(inputs: Sequence[torch.Tensor], layout: Layout | None, device: torch.device) -> list[torch.Tensor]:
    placed = []
    for values in inputs:
        fits = layout is not None and layout.dims[0] <= values.dim() <= layout.dims[1]
        placed.append(place(values, layout if layout is not None and fits else CONTIGUOUS, device))
    return placed


def check_inplace(
    op: Callable[..., Any],
    start: torch.Tensor,
    inputs: Sequence[torch.Tensor],
    layout: Layout,
    device: torch.device,
    input_layout: Layout | None = None,
) -> None:
    """``op(view, *inputs)`` changes the view in place; the result must be the CPU's.

    Args:
        op: takes the tensor to change and the inputs.
        start: what the view holds at first.
        inputs: CPU tensors.
        layout: of the view that is changed.
        input_layout: of the inputs; contiguous where left out.

    Raises:
        AssertionError: says whether the write was lost, misplaced or garbage, and how the view was made.
    """
    expected = start.clone()
    with faults.reference():
        op(expected, *[t.clone() for t in inputs])
    out = Placed(start, layout, device)
    with may_refuse(device):
        op(out.view, *_inputs(inputs, input_layout, device))
    out.assert_ok(expected)


def check_out(
    op: Callable[..., Any],
    inputs: Sequence[torch.Tensor],
    layout: Layout,
    device: torch.device,
    input_layout: Layout | None = None,
) -> None:
    """``op(*inputs, out=view)`` writes into views of the layout; each must hold the CPU's result.

    Args:
        op: takes the inputs and ``out``, which is ``None``, a tensor, or a tuple of tensors.
        layout: of every output that has enough dimensions for it.

    Raises:
        AssertionError: as in :func:`check_inplace`.
    """
    with faults.reference():
        expected = _tuple(op(*[t.clone() for t in inputs], out=None))
    placed = []
    for want in expected:
        fits = layout.dims[0] <= want.dim() <= layout.dims[1]
        start = ~want if want.dtype == torch.bool else torch.full_like(want, sentinel(want.dtype))
        placed.append(Placed(start.contiguous(), layout if fits else CONTIGUOUS, device))
    views = tuple(p.view for p in placed)
    with may_refuse(device):
        op(*_inputs(inputs, input_layout, device), out=views[0] if len(views) == 1 else views)
    for index, (out, want) in enumerate(zip(placed, expected)):
        out.assert_ok(want, f"output {index}")


def check_functional(
    op: Callable[..., Any], inputs: Sequence[torch.Tensor], layout: Layout, device: torch.device
) -> None:
    """``op(*inputs)`` allocates its own result, which may inherit the inputs' strides; it must be the CPU's.

    Raises:
        AssertionError: with the strides of the result.
    """
    with faults.reference():
        expected = _tuple(op(*[t.clone() for t in inputs]))
    with may_refuse(device):
        results = _tuple(op(*_inputs(inputs, layout, device)))
    assert len(results) == len(expected)
    _assert_results(results, expected, "result", layout)


def check_backward(
    op: Callable[..., torch.Tensor], inputs: Sequence[torch.Tensor], layout: Layout, device: torch.device
) -> None:
    """The gradients of ``op`` with inputs and incoming gradient of the layout must be the CPU's.

    Raises:
        AssertionError: names the gradient that is wrong, with its strides.
    """
    with faults.reference():
        expected = _gradients(op, [t.clone() for t in inputs], CONTIGUOUS, torch.device("cpu"))
    with may_refuse(device):
        actual = _gradients(op, _inputs(inputs, layout, device), layout, device)
    _assert_results(actual, expected, "gradient", layout)


def _gradients(
    op: Callable[..., torch.Tensor], inputs: list[torch.Tensor], layout: Layout, device: torch.device
) -> tuple[torch.Tensor, ...]:
    leaves = [t.detach().requires_grad_() for t in inputs]
    out = op(*leaves)
    incoming = place(normal(*out.shape, seed=77), layout if out.dim() >= layout.dims[0] else CONTIGUOUS, device)
    return torch.autograd.grad(out, leaves, incoming)


def _assert_results(
    results: Sequence[torch.Tensor], expected: Sequence[torch.Tensor], what: str, layout: Layout
) -> None:
    for index, (result, want) in enumerate(zip(results, expected)):
        name = OK if same(result.detach().cpu(), want.detach()) else GARBAGE
        record.verdict(name)
        assert name == OK, (
            f"{what} {index} differs from the CPU's; inputs are {layout.name} ({layout.recipe}), "
            f"its strides are {tuple(result.stride())}"
        )


def check_random(
    op: Callable[[torch.Tensor], Any],
    shape: Shape,
    layout: Layout,
    device: torch.device,
    holds: Callable[[torch.Tensor], bool],
    dtype: torch.dtype = torch.float32,
) -> None:
    """``op(view)`` fills the view with random values: every cell new, the gaps untouched.

    Args:
        holds: whether the filled values, on the CPU, can come from the distribution.

    Raises:
        AssertionError: as in :func:`check_inplace`.
    """
    out = Placed(torch.full(shape, sentinel(dtype), dtype=dtype), layout, device)
    with may_refuse(device):
        op(out.view)
    out.raise_unless_ok(
        out.verdict_by(lambda values: not bool((values == sentinel(dtype)).any()) and holds(values)), "output"
    )
