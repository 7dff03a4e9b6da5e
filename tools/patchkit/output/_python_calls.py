"""How a Python user reaches a finding: ``x.t().addcmul_(...)`` for the overload ``addcmul_``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from patchkit.errors import PatchkitError


class Named(Protocol):
    """An argument, as far as a call shows it."""

    @property
    def name(self) -> str: ...


class Spelled(Protocol):
    """An overload, as far as its spelling in Python goes; the registry's, or what a cached scan kept of it."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def public(self) -> bool: ...
    @property
    def python(self) -> str: ...
    @property
    def outputs(self) -> Sequence[Named]: ...


# A tensor in each layout that loses its output, made from one that everyone has.
EXAMPLE = {
    "strided": "x.t()",
    "channels_last": "x.to(memory_format=torch.channels_last)",
    "offset": "x[1:]",
}


def read_overloads(root: Path) -> Mapping[str, Spelled]:
    """Return the overloads of the tree at ``root`` by name; none where its schemas cannot be read."""
    from patchkit.scan.registry import load_registry

    try:
        return load_registry(root).overloads
    except PatchkitError:
        return {}


def python_calls(
    ops: Sequence[str],
    triggers: Iterable[str],
    layouts: Sequence[str],
    overloads: Mapping[str, Spelled],
) -> list[str]:
    """Return one Python call for each way (``triggers``) in which a finding's ``ops`` are reached.

    Args:
        ops: overload names such as ``addcmul.out``.
        triggers: of ``inplace``, ``out``, ``functional``, ``backward``.
        layouts: the finding's layouts; the calls use a tensor in the first.
        overloads: what :func:`read_overloads` returned.
    """
    tensor = next((EXAMPLE[layout] for layout in layouts if layout in EXAMPLE), "x")
    known = [overloads[op] for op in ops if op in overloads]
    # what everyone can call reads better than what only torch.ops reaches
    known.sort(key=lambda overload: not overload.public)
    calls = []
    for trigger in triggers:
        chosen = next((overload for overload in known if _trigger_of(overload) == trigger), None)
        if chosen is not None:
            calls.append(_call(chosen, trigger, tensor))
    return list(dict.fromkeys(calls))


def _trigger_of(overload: Spelled) -> str:
    return "backward" if "_backward" in overload.name else overload.kind


def _call(overload: Spelled, trigger: str, tensor: str) -> str:
    if trigger == "backward":
        return f"backward of {overload.name.partition('_backward')[0]}"
    name = overload.python.partition("(")[0]
    if trigger == "out":
        written = [argument.name for argument in overload.outputs]
        others = f", {', '.join(written[1:])})" if len(written) > 1 else ""
        return f"{name}(..., out={'(' if others else ''}{tensor.replace('x', 'y', 1)}{others})"
    if name.startswith("Tensor."):
        return f"{tensor}.{name.removeprefix('Tensor.')}(...)"
    return f"{name}({tensor}, ...)"
