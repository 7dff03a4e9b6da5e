"""Which C++ kernel an MPS tensor reaches for each overload, and which of its parameters are outputs.

Rests on ``torchgen/model.py`` (``NativeFunction.from_yaml``), ``torchgen/api/native.py`` and
``torchgen/api/structured.py`` (parameter order of kernels), and the order in which the dispatcher falls back
from a backend's key to the alias keys (``c10/core/DispatchKeySet.h``,
``aten/src/ATen/core/dispatch/OperatorEntry.cpp``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from patchkit.errors import InputError
from patchkit.scan.registry.library import RegisteredKernel
from patchkit.scan.registry.schema import Argument, Overload, parse_argument, split_top_level
from patchkit.scan.registry.yaml_entries import Entry

BACKEND = "MPS"
# Alias keys that an MPS tensor falls back on when its own key has no kernel, in the dispatcher's order.
FALLBACKS = (
    "CompositeExplicitAutogradNonFunctional",
    "CompositeExplicitAutograd",
    "CompositeImplicitAutograd",
)

Role = Literal["input", "output", "self", "mutable"]
Owner = Literal["caller", "fresh", "returned"]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel's C++ function.

    ``role`` is ``output`` for an output parameter, ``self`` for the tensor an in-place overload writes,
    ``mutable`` for another argument the schema marks written, else ``input``. ``type`` is the schema's type
    (a precomputed parameter has its C++ type).
    """

    name: str
    type: str
    role: Role


@dataclass(frozen=True)
class OutputArgument:
    """One output of an overload, as the kernel's C++ function sees it.

    Args:
        index: number of the output, from 0.
        name: C++ parameter, or ``""`` for a returned value.
        position: 0-based position of the parameter, or ``None`` for a returned value.
        owner: ``caller`` when it is the caller's tensor (in-place, ``out=``), ``fresh`` when the structured
            wrapper allocated it from what the meta function asked for, ``returned`` when the kernel allocates
            it.
    """

    index: int
    name: str
    position: int | None
    owner: Owner


@dataclass(frozen=True)
class OverloadUse:
    """An overload that reaches a kernel, with the kernel's parameters as this overload fills them.

    Args:
        overload: the overload.
        key: dispatch key that names the kernel: ``MPS``, or the alias key an MPS tensor falls back on.
        delegated: it comes through ``structured_delegate`` rather than naming the kernel itself.
        structured: the kernel is a ``TORCH_IMPL_FUNC``, whose wrapper hands it the outputs.
        parameters: of the kernel's C++ function.
        outputs: what the overload gives the kernel to write, and what the kernel returns.
    """

    overload: Overload
    key: str
    delegated: bool
    structured: bool
    parameters: tuple[Parameter, ...]
    outputs: tuple[OutputArgument, ...]

    @property
    def triggers(self) -> tuple[str, ...]:
        """How a user meets the overload: ``inplace``, ``out``, ``functional``, or ``backward`` through autograd."""
        return triggers_of(self.overload)


def triggers_of(overload: Overload) -> tuple[str, ...]:
    """How a user meets an overload; what autograd calls is the functional form of a ``_backward`` operator."""
    if overload.kind == "functional" and "_backward" in overload.base:
        return ("backward",)
    return ("inplace",) if overload.kind == "mutable" else (overload.kind,)


@dataclass(frozen=True)
class KernelUse:
    """A C++ kernel of a dispatch table that MPS tensors reach.

    Args:
        kernel: its name in the table: the function in ``at::native``, or ``x`` of ``TORCH_IMPL_FUNC(x)``.
        uses: overloads that reach it. Unstructured kernels are C++ overload sets: tell their members apart by
            ``parameters``. One name may stand for a structured kernel and for plain functions.
    """

    kernel: str
    uses: tuple[OverloadUse, ...]

    @property
    def structured(self) -> bool:
        """Whether a ``TORCH_IMPL_FUNC`` has this name."""
        return any(use.structured for use in self.uses)

    @property
    def keys(self) -> frozenset[str]:
        """Dispatch keys that name it."""
        return frozenset(use.key for use in self.uses)

    @property
    def overloads(self) -> tuple[str, ...]:
        """Names of the overloads that reach the kernel."""
        return tuple(use.overload.name for use in self.uses)


@dataclass(frozen=True)
class KernelEntry:
    """A dispatch decision before schemas are read: entry, kernel, key, and how the entry gets there."""

    name: str
    kernel: str
    key: str
    structured: bool
    delegated: bool


def entry_name(entry: Entry) -> str:
    """Name of an entry's overload: the schema's text before its first parenthesis."""
    return str(entry.fields["func"]).partition("(")[0].strip().removeprefix("aten::")


def split_keys(table: Mapping[str, str]) -> dict[str, str]:
    """Resolve joint keys: ``{"CPU, MPS": "f"}`` becomes ``{"CPU": "f", "MPS": "f"}``."""
    split: dict[str, str] = {}
    for keys, kernel in table.items():
        if "," in keys:
            for key in keys.split(","):
                split[key.strip()] = kernel
        else:
            split[keys] = kernel
    return split


def kernel_entries(entries: Mapping[str, Entry], shown: str) -> list[KernelEntry]:
    """Decide for each entry which kernel an MPS tensor reaches; entries it cannot reach are left out.

    Raises:
        InputError: a ``structured_delegate`` names no entry, or a dispatch table is not a mapping.
    """
    found: list[KernelEntry] = []
    for name, entry in entries.items():
        table = entry.fields.get("dispatch")
        if table is not None and not isinstance(table, dict):
            raise InputError(f"{shown} line {entry.line}: 'dispatch' is not a table of keys and kernels.")
        delegate = entry.fields.get("structured_delegate")
        if isinstance(delegate, str) and delegate not in entries:
            raise InputError(f"{shown} line {entry.line}: structured_delegate {delegate} is not an operator here.")
        decided = _decide(name, entry, entries)
        if decided:
            found.append(decided)
        found += _other_keys(name, _table(entry))
    return found


def registered_entries(registered: Iterable[RegisteredKernel], entries: Mapping[str, Entry]) -> Iterator[KernelEntry]:
    """Kernels registered past the table, for their overload and for those that delegate to it."""
    for one in registered:
        if one.overload not in entries:
            continue
        yield KernelEntry(one.overload, one.kernel, one.key, False, False)
        for name, entry in entries.items():
            delegates = entry.fields.get("structured_delegate") == one.overload
            if delegates and not _kernel_for(_table(entry), one.key):
                yield KernelEntry(name, one.kernel, one.key, False, True)


def _other_keys(name: str, table: Mapping[str, str]) -> Iterator[KernelEntry]:
    """Kernels of the backend's other keys, such as ``SparseMPS``; they are never structured."""
    for key, kernel in split_keys(table).items() if any(BACKEND in keys for keys in table) else ():
        if key.endswith(BACKEND) and key != BACKEND:
            yield KernelEntry(name, kernel.rpartition("::")[2], key, False, False)


def _decide(name: str, entry: Entry, entries: Mapping[str, Entry]) -> KernelEntry | None:
    fields = entry.fields
    table = _table(entry)
    structured = fields.get("structured") is True
    own = _kernel_for(table, BACKEND)
    if own:
        return KernelEntry(name, own, BACKEND, structured, False)
    delegate = fields.get("structured_delegate")
    if isinstance(delegate, str):
        kernel = _kernel_for(_table(entries[delegate]), BACKEND)
        if kernel:
            return KernelEntry(name, kernel, BACKEND, True, True)
    for key in FALLBACKS:
        kernel = _kernel_for(table, key)
        if kernel:
            return KernelEntry(name, kernel, key, False, False)
    if table or structured or delegate or fields.get("manual_kernel_registration") is True:
        return None
    # Without a table the function is composite and named after the operator (NativeFunction.from_yaml).
    func = str(fields["func"])
    suffix = "_out" if _is_out(func) else ""
    return KernelEntry(name, name.partition(".")[0] + suffix, FALLBACKS[-1], False, False)


def _table(entry: Entry) -> dict[str, str]:
    table = entry.fields.get("dispatch")
    return table if isinstance(table, dict) else {}


def _kernel_for(table: Mapping[str, str], wanted: str) -> str:
    for keys, kernel in table.items():
        if keys == wanted or ("," in keys and wanted in (key.strip() for key in keys.split(","))):
            return kernel.rpartition("::")[2]
    return ""


def _is_out(func: str) -> bool:
    """Whether a schema has a written keyword-only argument (``parse_schema`` without the parsing)."""
    _, star, keyword_only = func.partition("*, ")
    return bool(star) and "!" in keyword_only.rpartition(" -> ")[0]


def structured_parameters(out: Overload) -> tuple[Parameter, ...]:
    """Parameters of ``TORCH_IMPL_FUNC`` for a structured ``out`` (``structured.py``, ``impl_arguments``).

    Precomputed parameters replace the argument they are made from; those added without replacement come just
    before the outputs.

    Raises:
        InputError: a ``precomputed`` line cannot be read.
    """
    replaced, added = _precomputed(out)
    parameters: list[Parameter] = []
    for argument in out.arguments:
        if argument.is_out:
            continue
        parameters += replaced.get(argument.name) or [Parameter(argument.name, argument.type, "input")]
    parameters += added
    parameters += [Parameter(argument.name, argument.type, "output") for argument in out.arguments if argument.is_out]
    return tuple(parameters)


def _precomputed(out: Overload) -> tuple[dict[str, list[Parameter]], list[Parameter]]:
    replaced: dict[str, list[Parameter]] = {}
    added: list[Parameter] = []
    for line in out.precomputed:
        source, arrow, text = line.partition(" -> ")
        parts = [parse_argument(part) for part in split_top_level(text if arrow else source)]
        made = [Parameter(part.name, part.type, "input") for part in parts]
        if arrow:
            replaced[source.strip()] = made
        else:
            added = made
    return replaced, added


def structured_use(overload: Overload, out: Overload, key: str) -> OverloadUse:
    """How ``overload`` (``out`` itself or a delegate of it) fills the structured kernel of ``out``.

    The in-place wrapper passes ``op.outputs_[i]``, the functional one what the meta function made it allocate
    (``torchgen/dest/register_dispatch_key.py``, ``gen_one``).
    """
    parameters = structured_parameters(out)
    positions = [position for position, parameter in enumerate(parameters) if parameter.role == "output"]
    owner: Owner = "caller" if overload.kind in ("out", "inplace") else "fresh"
    outputs = tuple(
        OutputArgument(index, parameters[position].name, position, owner) for index, position in enumerate(positions)
    )
    return OverloadUse(overload, key, overload.name != out.name, True, parameters, outputs)


def default_backend_use(overload: Overload, out: Overload, key: str) -> OverloadUse:
    """How a delegate fills a kernel that was registered past the table for its structured ``out``.

    torchgen gives functional and in-place overloads a kernel that runs the meta function and calls
    ``at::x_out`` (``register_dispatch_key.py``, ``gen_one``, key ``CompositeExplicitAutogradNonFunctional``).
    """
    filled = unstructured_use(out, key)
    owner: Owner = "caller" if overload.kind == "inplace" else "fresh"
    outputs = tuple(replace(output, owner=owner) for output in filled.outputs)
    return OverloadUse(overload, key, True, False, filled.parameters, outputs)


def unstructured_use(overload: Overload, key: str) -> OverloadUse:
    """How ``overload`` fills an unstructured kernel: the schema's arguments, outputs last or returned."""
    parameters = tuple(
        Parameter(argument.name, argument.type, _role(argument, overload)) for argument in overload.arguments
    )
    outputs: list[OutputArgument] = [
        OutputArgument(index, parameters[position].name, position, "caller")
        for index, position in enumerate(
            position for position, parameter in enumerate(parameters) if parameter.role != "input"
        )
    ]
    if overload.kind in ("functional", "mutable"):
        first = len(outputs)
        outputs += [OutputArgument(index, "", None, "returned") for index in range(first, first + overload.n_returns)]
    return OverloadUse(overload, key, False, False, parameters, tuple(outputs))


def _role(argument: Argument, overload: Overload) -> Role:
    if not argument.mutable:
        return "input"
    if argument.is_out:
        return "output"
    return "self" if overload.kind == "inplace" and argument.name == "self" else "mutable"
