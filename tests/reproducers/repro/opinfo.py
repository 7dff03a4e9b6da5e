"""Drives torch's own OpInfo database, which every wheel from 1.13 on carries, through the suite's output
check.

It answers for each operator and entry point: called with a non-contiguous output (or input, for a fresh
result), is the result the CPU's, and are the gaps untouched?
"""

from __future__ import annotations

import re
import sys
import types
import warnings
from typing import Any, Callable, Iterator

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from repro import faults, record
from repro.layouts import CONTIGUOUS, EVERY_OTHER_FROM_1, MIXED, TRANSPOSED, Layout
from repro.outputs import GARBAGE, OK, Placed, place, sentinel

ENTRIES = ("out", "inplace", "functional")
DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)
SAMPLES = 4
LARGEST = 4096

_database: dict[str, Any] = {}


def database() -> dict[str, Any]:
    """The installed wheel's operators by name (variants as ``name.variant``); loaded once.

    Raises:
        ImportError: the wheel's test library needs something that is not installed.
    """
    if not _database:
        _stand_in_for_expecttest()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from torch.testing._internal.common_methods_invocations import op_db
        for op in op_db:
            _database[op.name + ("." + op.variant_test_name if op.variant_test_name else "")] = op
    return _database


def _stand_in_for_expecttest() -> None:
    # torch.testing._internal.common_utils imports it for golden-file tests, which are not used here
    try:
        import expecttest  # noqa: F401
    except ImportError:
        module: Any = types.ModuleType("expecttest")
        module.TestCase = type("TestCase", (__import__("unittest").TestCase,), {})
        module.ACCEPT = False
        sys.modules["expecttest"] = module


def names(aten_names: tuple[str, ...] | None = None) -> list[str]:
    """The operators of the database, or those whose ATen name is one of ``aten_names``."""
    ops = database()
    if aten_names is None:
        return sorted(ops)
    wanted = {faults.base_name(name) for name in aten_names}
    return sorted(name for name, op in ops.items() if wanted & _aten_names(op))


def names_or_reason(aten_names: list[str]) -> list[Any]:
    """The database's operators for a generated page; where it has none, one test that is skipped and says so.

    An operator that the database knows under another name is found by what it is seen to dispatch to; only
    names that share a word are tried, such as ``bicubic``.
    """
    found: list[Any] = list(names(tuple(aten_names)))
    known = {name for op in found for name in _aten_names(database()[op])}
    wanted = {faults.base_name(name) for name in aten_names} - known
    if wanted:
        words = {word for name in wanted for word in _words(name)}
        near = [name for name in sorted(database()) if name not in found and words & _words(name)]
        found += [name for name in near if wanted & _dispatched(name)]
    if not found:
        reason = "the OpInfo database of this release has none of " + ", ".join(aten_names)
        found.append(pytest.param("none", marks=pytest.mark.skip(reason=reason)))
    return found


def _words(name: str) -> set[str]:
    return set(re.findall("[a-z]{4,}", name)) - {"functional", "linalg", "special", "backward"}


def _dispatched(name: str) -> set[str]:
    """The ATen operators that the first two samples of an operator reach on the CPU."""
    reached = _Seen()
    try:
        found = samples(database()[name])[1][:2]
    except (pytest.skip.Exception, Exception):
        return set()
    for sample in found:
        with reached, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                Call(database()[name], sample, "functional").run(torch.device("cpu"))
            except Exception:
                continue
    return reached.names


def _aten_names(op: Any) -> set:
    candidates = {op.name, getattr(op, "aten_name", "") or ""}
    candidates |= {name.split(".")[-1] for name in candidates}
    return {faults.base_name(name) for name in candidates if name} | {"special_" + op.name.split(".")[-1]}


def samples(op: Any) -> tuple[torch.dtype, list[Any]]:
    """A few small samples on the CPU with the first dtype of :data:`DTYPES` that the operator takes there."""
    for dtype in DTYPES:
        if not op.supports_dtype(dtype, "cpu"):
            continue
        found: list[Any] = []
        with faults.reference(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(7)
            for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
                if isinstance(sample.input, torch.Tensor) and not 0 < sample.input.numel() <= LARGEST:
                    continue
                found.append(sample)
                if len(found) == 3 * SAMPLES:
                    break
        return dtype, found
    pytest.skip("takes none of float32, int64, bool, complex64 on the CPU")
    raise AssertionError


def _tensors(result: Any) -> tuple[torch.Tensor, ...] | None:
    if isinstance(result, torch.Tensor):
        return (result,)
    if isinstance(result, (tuple, list)) and result and all(isinstance(r, torch.Tensor) for r in result):
        return tuple(result)
    return None


def _fitting(layout: Layout, dims: int) -> Layout:
    if layout.dims[0] <= dims:
        return layout
    return EVERY_OTHER_FROM_1 if dims == 1 else CONTIGUOUS


def _moved(value: Any, move: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return move(value)
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return type(value)(_moved(item, move) for item in value)
    if isinstance(value, dict):
        return {key: _moved(item, move) for key, item in value.items()}
    return value


def _plain(values: torch.Tensor, layout: Layout, device: torch.device) -> torch.Tensor:
    if values.layout != torch.strided or values.dim() == 0:
        return values.to(device)
    return place(values.contiguous(), _fitting(layout, values.dim()), device)


class _Seen(TorchDispatchMode):
    """Notes whether anything that was dispatched draws random numbers; OpInfo's own wrappers hide it by
    seeding."""

    def __init__(self) -> None:
        super().__init__()
        self.random = False
        self.names: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        tags = getattr(func, "tags", ())
        self.names.add(faults.base_name(func._schema.name))
        self.random = self.random or torch.Tag.nondeterministic_seeded in tags or "generator" in str(func._schema)
        return func(*args, **(kwargs or {}))


class Call:
    """One sample of one operator, and what it gives on the CPU with contiguous tensors."""

    def __init__(self, op: Any, sample: Any, entry: str) -> None:
        self.op, self.sample, self.entry = op, sample, entry

    def run(self, device: torch.device, layout: Layout = CONTIGUOUS, **more: Any) -> Any:
        """Call the operator on the device, with every input in the layout."""

        def move(values: torch.Tensor) -> torch.Tensor:
            return _plain(values, layout, device)

        args, kwargs = _moved(tuple(self.sample.args), move), _moved(dict(self.sample.kwargs), move)
        kwargs.update(more)
        return self.op(_moved(self.sample.input, move), *args, **kwargs)

    def expected(self) -> tuple[torch.Tensor, ...] | None:
        """The CPU's results, or ``None`` where two runs differ: random or uninitialised values."""
        with faults.reference(), _Seen() as seen:
            first = _tensors(self.run(torch.device("cpu")))
            second = _tensors(self.run(torch.device("cpu")))
        if first is None or second is None or seen.random:
            return None
        with faults.reference():
            same = all(a.shape == b.shape and close(a, b) for a, b in zip(first, second))
        return first if same else None


def close(actual: torch.Tensor, expected: torch.Tensor) -> bool:
    """Equal within what two kernels of one operator may differ by."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    if expected.dtype.is_floating_point or expected.dtype.is_complex:
        return bool(torch.allclose(actual, expected, rtol=1e-3, atol=1e-4, equal_nan=True))
    return bool(torch.equal(actual, expected))


def check(name: str, entry: str, device: torch.device) -> None:
    """Check one operator through one entry point with a few samples and layouts.

    Raises:
        AssertionError: an output is lost, misplaced or garbage.
        Skipped: nothing could be checked; the message says why.
    """
    op = database()[name]
    if name.startswith("jiterator") and device.type != "cuda":
        pytest.skip("exists on CUDA only")
    if name.startswith(("empty", "new_empty")):
        pytest.skip("its result is uninitialised by definition")
    if name.startswith("as_strided"):
        pytest.skip("reads storage, so its result depends on the layout of its input")
    if entry == "out" and not op.supports_out:
        pytest.skip("has no out=")
    if entry == "inplace" and op.inplace_variant is None:
        pytest.skip("has no in-place variant")
    reasons: dict[str, int] = {}
    checked = 0
    for call in _calls(op, entry):
        why = _CHECKS[entry](call, device)
        if why:
            reasons[why] = reasons.get(why, 0) + 1
        else:
            checked += 1
            if checked == SAMPLES:
                break
    record.fact("samples", checked)
    if not checked:
        pytest.skip(max(reasons, key=lambda why: reasons[why]) if reasons else "has no small sample")


def _calls(op: Any, entry: str) -> Iterator[Call]:
    for sample in samples(op)[1]:
        yield Call(op, sample, entry)


def _note_escape(output: torch.Tensor) -> None:
    if faults.escaped(output):
        record.fact("escaped", "the output is written by an operator that the simulated backend has right")


def _check_out(call: Call, device: torch.device) -> str:
    expected = _try(call.expected)
    if isinstance(expected, str):
        return expected
    if any(want.dim() == 0 or want.numel() < 2 or want.layout != torch.strided for want in expected):
        return "result has fewer than two cells"
    for layout in (TRANSPOSED, EVERY_OTHER_FROM_1):
        placed = []
        for want in expected:
            with faults.reference():
                start = ~want if want.dtype == torch.bool else torch.full_like(want, sentinel(want.dtype))
            placed.append(Placed(start.contiguous(), _fitting(layout, want.dim()), device))
        views = [p.view for p in placed]
        try:
            call.run(device, out=views[0] if len(views) == 1 else tuple(views))
        except (NotImplementedError, RuntimeError, TypeError) as refusal:
            return "the device or this release refuses: " + _short(refusal)
        for index, (out, want) in enumerate(zip(placed, expected)):
            with faults.reference():
                found = out.verdict_by(lambda values, want=want: close(values, want))
            out.raise_unless_ok(found, f"output {index} of {call.op.name}")
            _note_escape(out.base)
    return ""


def _check_inplace(call: Call, device: torch.device) -> str:
    if getattr(call.sample, "broadcasts_input", False):
        return "broadcasts its input"
    start = call.sample.input
    if not isinstance(start, torch.Tensor) or start.dim() == 0 or start.layout != torch.strided:
        return "input is no strided tensor with dimensions"
    call.op = call.op.inplace_variant
    with faults.reference(), _Seen() as seen:
        want = start.contiguous().clone()
        try:
            call.op(want, *call.sample.args, **call.sample.kwargs)
        except (RuntimeError, TypeError, NotImplementedError) as refusal:
            return "the CPU refuses: " + _short(refusal)
        same = want.shape == start.shape and close(want, start)
    if seen.random:
        return "random"
    if want.shape != start.shape:
        return "changes the shape"
    if same:
        return "the operator does not change the sample by more than the tolerance"
    for layout in (TRANSPOSED, EVERY_OTHER_FROM_1):
        placed = Placed(start.contiguous(), _fitting(layout, start.dim()), device)
        try:
            args = _moved(tuple(call.sample.args), lambda t: _plain(t, CONTIGUOUS, device))
            kwargs = _moved(dict(call.sample.kwargs), lambda t: _plain(t, CONTIGUOUS, device))
            call.op(placed.view, *args, **kwargs)
        except (NotImplementedError, RuntimeError, TypeError) as refusal:
            return "the device or this release refuses: " + _short(refusal)
        if placed.view.stride() != placed.strides:
            return "changes its own strides by definition"
        with faults.reference():
            found = placed.verdict_by(lambda values: close(values, want))
        placed.raise_unless_ok(found, getattr(call.op, "__name__", "in-place operator"))
        _note_escape(placed.base)
    return ""


def _check_functional(call: Call, device: torch.device) -> str:
    expected = _try(call.expected)
    if isinstance(expected, str):
        return expected
    strided = 0
    for layout in (TRANSPOSED, MIXED):
        try:
            results = _tensors(call.run(device, layout))
        except (NotImplementedError, RuntimeError, TypeError) as refusal:
            return "the device or this release refuses: " + _short(refusal)
        if results is None:
            return "result is no tensor"
        for index, (result, want) in enumerate(zip(results, expected)):
            if result.layout != torch.strided or result._is_view() or result.is_contiguous():
                continue
            strided += 1
            with faults.reference():
                verdict = OK if close(result.detach().cpu(), want) else GARBAGE
            record.verdict(verdict)
            assert verdict == OK, (
                f"result {index} of {call.op.name} with {layout.name} inputs differs "
                f"from the CPU's; its strides are {result.stride()}"
            )
            _note_escape(result)
    return "" if strided else "result is contiguous or a view"


def _try(compute: Callable[[], tuple[torch.Tensor, ...] | None]) -> Any:
    try:
        result = compute()
    except (RuntimeError, TypeError, NotImplementedError) as refusal:
        return "the CPU refuses: " + _short(refusal)
    return "random, uninitialised, or no tensor" if result is None else result


def _short(refusal: Exception) -> str:
    text = str(refusal).strip().splitlines()
    return (text[0] if text else type(refusal).__name__)[:80]


_CHECKS = {"out": _check_out, "inplace": _check_inplace, "functional": _check_functional}
