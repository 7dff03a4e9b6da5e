"""Gives CPU tensors the behaviour of the faulty MPS backend, so that the tests can be tested without a Mac.

``Placeholder`` (aten/src/ATen/native/mps/OperationUtils.mm) copies an output it cannot address into a
contiguous temporary; the kernel writes there, and what happens next depends on the kernel. Here the same is
done one level higher, in the dispatcher: for the chosen operators every output that the backend would have
gathered is replaced by a contiguous temporary, and the fault decides what the caller's tensor gets.

A fresh result has no caller's tensor: when it is not contiguous, its memory stays as the allocator left it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Iterable, Iterator

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def _lost(target: torch.Tensor, result: torch.Tensor) -> None:
    """The result dies with the Placeholder: the caller's tensor keeps what it held."""


def _misplaced(target: torch.Tensor, result: torch.Tensor) -> None:
    """``gatherTensorData=false`` on an output: written densely from the start of the buffer."""
    target.as_strided((result.numel(),), (1,), 0).copy_(result.reshape(-1))


def _garbage(target: torch.Tensor, result: torch.Tensor) -> None:
    """The temporary was shaped after another tensor: its cells are copied back, but hold something else."""
    target.copy_(uninitialised(result))


def _restrided(target: torch.Tensor, result: torch.Tensor) -> None:
    """The caller's tensor is given new, contiguous strides before it is written."""
    target.set_(result.contiguous())


def _fixed(target: torch.Tensor, result: torch.Tensor) -> None:
    """The fix: the contiguous temporary is copied back."""
    target.copy_(result)


_pauses = [0]


@contextmanager
def reference() -> Iterator[None]:
    """Within it a simulated fault is off: the CPU results that outputs are compared with are right."""
    _pauses[0] += 1
    try:
        yield
    finally:
        _pauses[0] -= 1


def uninitialised(like: torch.Tensor) -> torch.Tensor:
    """Stands for memory nobody wrote, made repeatable: values that no test computes."""
    if like.dtype == torch.bool:
        return (torch.arange(like.numel()) % 2 == 0).reshape(like.shape)
    if like.dtype.is_floating_point or like.dtype.is_complex:
        return torch.full_like(like, -3.0e4, memory_format=torch.contiguous_format)
    return like + 41


FAULTS: dict[str, Callable[[torch.Tensor, torch.Tensor], None]] = {
    "lost": _lost,
    "lost-views": _lost,
    "dropped": _lost,
    "misplaced": _misplaced,
    "garbage": _garbage,
    "restrided": _restrided,
    "fixed": _fixed,
}
"""What each fault does with the caller's tensor. ``lost-views`` is release 1.13, which gathers every view;
``dropped`` is a kernel that rebinds its ``out`` handle, so that not even a contiguous output is written."""


_entered: list[FaultyBackend] = []


def _buffer(tensor: torch.Tensor) -> int:
    return tensor.data_ptr() - tensor.storage_offset() * tensor.element_size()


def escaped(output: torch.Tensor) -> bool:
    """Whether a fault is simulated, but no faulty kernel wrote this output: then there is nothing to
    catch."""
    return bool(_entered) and _buffer(output) not in _entered[-1].written


def gathered(tensor: torch.Tensor, fault: str) -> bool:
    """Whether the backend would put the output in a temporary: the constructor's own test.

    Args:
        fault: ``lost-views`` uses the test of 1.13 (any view), ``dropped`` none, all others that of 2.5 to
            2.14.
    """
    if fault == "dropped":
        return True
    if fault == "lost-views" and tensor._is_view():
        return True
    return not tensor.is_contiguous() or tensor.storage_offset() != 0


def base_name(overload: str) -> str:
    """``addcmul_`` and ``addcmul.out`` are both ``addcmul``: one kernel serves all its overloads."""
    name = overload.split("::")[-1].split(".")[0]
    return name if name.startswith("__") else name.rstrip("_")


PLUMBING = frozenset(
    [
        "copy",
        "fill",
        "zero",
        "clone",
        "contiguous",
        "detach",
        "resize",
        "set",
        "as_strided",
        "empty",
        "empty_like",
        "empty_strided",
        "new_empty",
        "new_empty_strided",
        "new_zeros",
        "new_full",
        "zeros",
        "zeros_like",
        "ones",
        "ones_like",
        "full",
        "full_like",
        "to",
        "_to_copy",
        "lift_fresh",
        "lift_fresh_copy",
        "view_as_real",
        "view_as_complex",
        "_unsafe_view",
        "_conj_physical",
        "conj_physical",
        "resolve_conj",
        "resolve_neg",
        "set_source",
        "resize_as",
        "_reshape_alias",
        "expand_copy",
    ]
)
"""Operators that ``*`` leaves alone: they allocate and copy, and the backend's own are right."""


class FaultyBackend(TorchDispatchMode):
    """While entered, the chosen operators treat their outputs as the faulty backend does.

    Args:
        fault: a key of :data:`FAULTS`.
        ops: operators of ``native_functions.yaml``, with or without overload names; ``*`` is all but the
            :data:`PLUMBING`.

    Attributes:
        hits: how often each operator met an output that the fault applies to.
        written: addresses of the buffers of those outputs.
    """

    def __init__(self, fault: str, ops: Iterable[str]) -> None:
        super().__init__()
        if fault not in FAULTS:
            raise ValueError("no such fault: {}; there are {}".format(fault, ", ".join(FAULTS)))
        self.fault = fault
        self.ops: frozenset[str] = frozenset(base_name(op) for op in ops)
        self.hits: dict[str, int] = {}
        self.written: set[int] = set()

    def __enter__(self) -> FaultyBackend:
        _entered.append(self)
        return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        _entered.remove(self)
        super().__exit__(*exception)

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if _pauses[0] or not self._chosen(base_name(func._schema.name)):
            return func(*args, **kwargs)
        arguments = func._schema.arguments
        given: list[Any] = list(args)
        swapped: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        for position, argument in enumerate(arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            by_name = position >= len(given)
            target = kwargs.get(argument.name) if by_name else given[position]
            if not isinstance(target, torch.Tensor) or not gathered(target, self.fault):
                continue
            temporary = torch.empty(target.shape, dtype=target.dtype, device=target.device).copy_(target)
            swapped[id(temporary)] = (temporary, target)
            if by_name:
                kwargs[argument.name] = temporary
            else:
                given[position] = temporary
        result = func(*given, **kwargs)
        for temporary, target in swapped.values():
            self._hit(func, target)
            FAULTS[self.fault](target, temporary)
        return self._map(func, result, swapped)

    def _chosen(self, name: str) -> bool:
        return name in self.ops or ("*" in self.ops and name not in PLUMBING)

    def _map(self, func: Any, result: Any, swapped: dict[int, tuple[torch.Tensor, torch.Tensor]]) -> Any:
        if isinstance(result, (tuple, list)):
            return type(result)(self._map(func, item, swapped) for item in result)
        if not isinstance(result, torch.Tensor):
            return result
        if id(result) in swapped:
            return swapped[id(result)][1]
        writes = any(a.alias_info is not None for a in func._schema.arguments)
        if not writes and self.fault != "fixed" and not result.is_contiguous():
            self._hit(func, result)
            result.copy_(uninitialised(result))
        return result

    def _hit(self, func: Any, output: torch.Tensor) -> None:
        self.written.add(_buffer(output))
        name = func._schema.name
        self.hits[name] = self.hits.get(name, 0) + 1
