"""The operator registry of one tree: overloads, the MPS kernels they reach, meta functions, stubs.

Everything beyond the dispatch tables is read when first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from patchkit.errors import InputError
from patchkit.scan.registry.dispatch import (
    BACKEND,
    KernelEntry,
    KernelUse,
    OutputArgument,
    OverloadUse,
    default_backend_use,
    entry_name,
    kernel_entries,
    registered_entries,
    split_keys,
    structured_use,
    unstructured_use,
)
from patchkit.scan.registry.library import registered_kernels
from patchkit.scan.registry.meta import MetaFunctions, MetaOutput
from patchkit.scan.registry.native_calls import (
    NativeCall,
    function_calls,
    leading_overloads,
    operator_calls,
)
from patchkit.scan.registry.native_sources import NativeSources
from patchkit.scan.registry.origins import Origins, Owner
from patchkit.scan.registry.python_api import PythonFacts, describe, read_python_facts
from patchkit.scan.registry.schema import Overload, parse_schema
from patchkit.scan.registry.stubs import StubUse, registrations, stub_calls
from patchkit.scan.registry.yaml_entries import Entry, read_entries
from patchkit.source.tree import NATIVE_FUNCTIONS

_V = TypeVar("_V")


class LazyMapping(Mapping[str, _V], Generic[_V]):
    """A mapping whose values are made when first read."""

    def __init__(self, keys: Mapping[str, object], make: Callable[[str], _V]) -> None:
        self._keys = keys
        self._make = make
        self._made: dict[str, _V] = {}

    def __getitem__(self, key: str) -> _V:
        if key not in self._made:
            if key not in self._keys:
                raise KeyError(key)
            self._made[key] = self._make(key)
        return self._made[key]

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


@dataclass(frozen=True)
class OutputLayout:
    """An output of an overload with what is known of its strides when the kernel gets it.

    Args:
        argument: the output as the kernel's parameters name it.
        proxied: ``out=`` of a structured kernel whose meta function asks for given strides: the kernel sees a
            proxy in those strides when the caller's differ. Always ``False`` for in-place overloads.
        layouts: of a fresh output or a proxy, in the terms of :class:`MetaOutput`; empty for a caller's
            tensor and for a value that the kernel returns.
        scalar: always 0-dim.
        ranks: the numbers of dimensions it can have, where that is known.
    """

    argument: OutputArgument
    proxied: bool
    layouts: frozenset[str]
    scalar: bool
    ranks: frozenset[int] | None = None


class Registry:
    """Operators of one source tree; make it with :func:`load_registry`.

    Attributes:
        root: the tree's root.
        overloads: every overload of ``native_functions.yaml`` by name.
        kernels: every C++ kernel that an MPS tensor reaches, by its name in the dispatch table.
        sources: the native C++ files.
    """

    def __init__(
        self,
        root: Path,
        sources: NativeSources,
        entries: Mapping[str, Entry],
        reached: Mapping[str, list[KernelEntry]],
    ) -> None:
        self.root = root
        self.sources = sources
        self._entries = entries
        self._reached = reached
        self.overloads: Mapping[str, Overload] = LazyMapping(entries, self._overload)
        self.kernels: Mapping[str, KernelUse] = LazyMapping(reached, self._kernel)

    @cached_property
    def _metas(self) -> MetaFunctions:
        return MetaFunctions(self.sources)

    @cached_property
    def _python(self) -> PythonFacts:
        return read_python_facts(self.root)

    def meta(self, name: str) -> tuple[MetaOutput, ...]:
        """What the meta function of a structured operator asks for each output.

        Args:
            name: any overload of the operator: its ``out`` or one of its delegates.

        Returns:
            one entry an output; empty for an operator that is not structured.
        """
        overload = self.overloads[name]
        out_name = name if overload.structured else overload.structured_delegate
        return self._meta_of.get(out_name, ()) if out_name else ()

    @cached_property
    def _meta_of(self) -> Mapping[str, tuple[MetaOutput, ...]]:
        return LazyMapping(self._functional_of, self._read_meta)

    @cached_property
    def _functional_of(self) -> Mapping[str, str]:
        """Structured ``out`` overload to the functional one that names its meta function."""
        found: dict[str, str] = {}
        for name, entry in self._entries.items():
            delegate = entry.fields.get("structured_delegate")
            if isinstance(delegate, str) and self.overloads[name].kind == "functional":
                found[delegate] = name
        return found

    def _read_meta(self, out_name: str) -> tuple[MetaOutput, ...]:
        out = self.overloads[out_name]
        name = self._functional_of[out_name].replace(".", "_")
        return self._metas.outputs(name, len(out.outputs), out.structured_inherits)

    def outputs(self, use: OverloadUse) -> tuple[OutputLayout, ...]:
        """The outputs of an overload with what the kernel may assume of their strides.

        ``structured`` outputs are read off the meta function; a caller's tensor keeps whatever strides it
        has.
        """
        by_meta = use.structured or use.delegated
        metas = self.meta(use.overload.name) if by_meta else ()
        layouts = []
        for argument in use.outputs:
            meta = metas[argument.index] if argument.index < len(metas) else None
            if meta is None:
                layouts.append(OutputLayout(argument, False, frozenset(), False))
                continue
            proxied = meta.proxied and use.structured and use.overload.kind == "out"
            fresh = proxied or argument.owner == "fresh"
            layouts.append(
                OutputLayout(
                    argument,
                    proxied,
                    meta.functional_layout if fresh else frozenset(),
                    meta.scalar,
                    meta.ranks,
                )
            )
        return tuple(layouts)

    @cached_property
    def stubs(self) -> Mapping[str, StubUse]:
        """Dispatch stubs with an MPS kernel, by the stub's name."""
        registered = {one.stub: one for one in registrations(self.sources)}

        def make(name: str) -> StubUse:
            one = registered[name]
            found = tuple(stub_calls(name, self.sources, self.origins))
            return StubUse(name, one.kernel, one.file, one.line, found)

        return LazyMapping(registered, make)

    def operator_calls(self, name: str) -> tuple[NativeCall, ...]:
        """Calls of an overload in composite functions and other kernels of the native files.

        They tell how an underscored operator is reached (``_softmax`` through ``softmax``) and which fresh
        tensors an in-place operator is called on (``normal_`` through ``randn_like``).
        """
        found = self._use_of(name)
        return tuple(operator_calls(found, self.sources, self.origins)) if found else ()

    def function_calls(self, name: str) -> tuple[NativeCall, ...]:
        """Direct calls in the native files of a C++ function, for instance one that an MPS file defines."""
        return tuple(function_calls(name, self.sources, self.origins))

    def public_routes(self, name: str) -> tuple[str, ...]:
        """Public overloads whose kernels lead to the overload ``name``, itself included when it is public."""
        routes: dict[str, None] = {}
        seen = {name}
        waiting = [name]
        while waiting:
            current = waiting.pop(0)
            if self.overloads[current].public:
                routes[current] = None
                continue
            callers = leading_overloads(self.operator_calls(current))
            waiting += [caller for caller in callers if caller not in seen]
            seen.update(callers)
        return tuple(routes)

    def _use_of(self, name: str) -> OverloadUse | None:
        """How an overload fills the kernel that MPS tensors reach, if they reach one."""
        kernel = self._kernel_of.get(name)
        uses = self.kernels[kernel].uses if kernel else ()
        return next((use for use in uses if use.overload.name == name), None)

    @cached_property
    def _kernel_of(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for kernel, reached in self._reached.items():
            for one in reached:
                if one.key == BACKEND or one.name not in found:
                    found[one.name] = kernel
        return found

    @cached_property
    def origins(self) -> Origins:
        """Follows tensors through the native C++ files."""
        return Origins(self.sources, self.kernels.get, self._structured_outputs)

    def _structured_outputs(self, use: OverloadUse) -> list[tuple[Owner, frozenset[str], bool]]:
        found: list[tuple[Owner, frozenset[str], bool]] = []
        for output in self.outputs(use):
            owner: Owner = "fresh" if output.argument.owner == "fresh" else "caller"
            found.append((owner, output.layouts, output.proxied))
        return found

    def _overload(self, name: str) -> Overload:
        entry = self._entries[name]
        fields = entry.fields
        func = str(fields["func"])
        try:
            schema = parse_schema(func)
        except InputError as error:
            raise InputError(f"{NATIVE_FUNCTIONS} line {entry.line}: {error}.") from error
        table = fields.get("dispatch")
        overload = Overload(
            name=schema.name,
            base=schema.base,
            kind=schema.kind,
            arguments=schema.arguments,
            n_returns=schema.n_returns,
            structured=fields.get("structured") is True,
            structured_delegate=_text(fields.get("structured_delegate")),
            structured_inherits=_text(fields.get("structured_inherits")),
            precomputed=_lines(fields.get("precomputed")),
            dispatch=split_keys(table) if isinstance(table, dict) else {},
            tags=_words(fields.get("tags")),
            variants=_words(fields.get("variants")) or ("function",),
            python_module=_text(fields.get("python_module")),
            autogen=_words(fields.get("autogen")),
            line=entry.line,
        )
        public, python = describe(overload, func, self._python)
        return replace(overload, public=public, python=python)

    def _kernel(self, kernel: str) -> KernelUse:
        reached = self._reached[kernel]
        uses = []
        for one in reached:
            overload = self.overloads[one.name]
            out = self.overloads[overload.structured_delegate] if overload.structured_delegate else overload
            if one.structured:
                uses.append(structured_use(overload, out, one.key))
            elif one.delegated:
                uses.append(default_backend_use(overload, out, one.key))
            else:
                uses.append(unstructured_use(overload, one.key))
        return KernelUse(kernel, tuple(uses))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _lines(value: object) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, list) else ()


def _words(value: object) -> tuple[str, ...]:
    """A field that is a list, or names separated by commas."""
    if isinstance(value, list):
        return tuple(value)
    return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else ()


def load_registry(root: Path) -> Registry:
    """Read the operators of the tree at ``root``.

    Only the dispatch tables are read at once; see :class:`Registry` for what is read later.

    Raises:
        InputError: ``native_functions.yaml`` is missing, unreadable, or not what PyTorch's is.
    """
    listed = read_entries(root / NATIVE_FUNCTIONS, NATIVE_FUNCTIONS)
    entries: dict[str, Entry] = {}
    for entry in listed:
        name = entry_name(entry)
        if name in entries:
            raise InputError(
                f"{NATIVE_FUNCTIONS} line {entry.line}: {name} is listed twice (first in line {entries[name].line})."
            )
        entries[name] = entry
    reached: dict[str, list[KernelEntry]] = {}
    sources = NativeSources(root)
    past_table = list(registered_entries(registered_kernels(sources), entries))
    overridden = {one.name for one in past_table if one.key == BACKEND}
    in_table = [one for one in kernel_entries(entries, NATIVE_FUNCTIONS) if one.name not in overridden]
    for one in (*in_table, *past_table):
        reached.setdefault(one.kernel, []).append(one)
    return Registry(root, sources, entries, reached)
