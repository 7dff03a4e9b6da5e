"""What meta functions ask for: which outputs get a proxy, and in which layout fresh outputs are allocated.

A structured kernel's wrapper allocates (functional), resizes (``out=``) or checks (in-place) each output when
the meta function calls ``set_output_*``. ``set_output_strided`` and ``set_output_contiguous`` make the
``out=`` wrapper hand the kernel a proxy when strides differ; ``set_output_raw_strided`` never does, nor does
anything built on TensorIterator, which calls it (``aten/src/ATen/TensorMeta.h``,
``torchgen/dest/register_dispatch_key.py``, ``aten/src/ATen/TensorIterator.cpp``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from patchkit.scan.registry.cpp_code import Call, Function, assigned, best_fitting, calls
from patchkit.scan.registry.cpp_text import split_arguments
from patchkit.scan.registry.native_sources import NativeSources

CONTIGUOUS = "contiguous"
PRESERVED = "preserved"
CHANNELS_LAST = "channels_last"
EXPLICIT = "explicit"
UNKNOWN = "unknown"

_META_MACRO = re.compile(r"\w*META_FUNC2?")
_LEADING_DIMS = re.compile(r"(?:\w+::)*IntArrayRef\(.*,\s*(\d+)\)")
_EMPTY = re.compile(r"(?:[\w:]*(?:IntArrayRef|DimVector|<int64_t>))?\s*(?:\{\s*\}|\(\s*\))|(?:std|c10|at)::nullopt")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_PROXIED = frozenset(["set_output_strided", "set_output_contiguous"])
_SETTERS = frozenset(["set_output", "set_output_raw_strided", *_PROXIED])
_OWN_RECEIVERS = frozenset(["", "this->"])
_MAX_DEPTH = 8
# Where the tree does not hold the parent class: TensorIterator keeps permuted strides, and channels_last as
# such.
_ITERATOR_LAYOUTS = frozenset([PRESERVED, CHANNELS_LAST])


@dataclass(frozen=True)
class MetaSite:
    """Where a meta function, or a helper it calls, sets an output: file, 1-based line, function name."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class MetaOutput:
    """One output of a structured kernel, as its meta function sets it.

    Args:
        index: number of the output.
        proxied: the ``out=`` wrapper gives the kernel a proxy when the caller's strides differ from the
            wanted ones. The in-place wrapper never does. Equal strides with a storage offset are never
            proxied.
        functional_layout: how the strides of a functional call's fresh output (and of a proxy) are chosen:
            ``contiguous``; ``preserved`` (those of a dense permuted input); ``channels_last`` (when an input
            suggests it); ``explicit`` (strides that the meta function computes, for instance column-major);
            ``unknown``. Several when branches differ; ``preserved`` includes contiguous inputs.
        scalar: always 0-dim: contiguous by nature, but an ``out=`` may carry a storage offset.
        sites: what this rests on; empty when the meta function was not found.
        ranks: the numbers of dimensions it can have, where every size is written out; otherwise ``None``.
    """

    index: int
    proxied: bool
    functional_layout: frozenset[str]
    scalar: bool
    sites: tuple[MetaSite, ...] = ()
    ranks: frozenset[int] | None = None


@dataclass(frozen=True)
class _Event:
    """One call that sets an output; ``index`` is ``None`` when it sets each output of an iterator."""

    index: int | None
    proxied: bool
    layouts: frozenset[str]
    scalar: bool
    site: MetaSite
    ranks: frozenset[int] | None = None


@dataclass(frozen=True)
class _Context:
    """A function being read: names that stand for the meta object, and literal values of its parameters."""

    function: Function
    receivers: frozenset[str]
    constants: Mapping[str, str] = field(default_factory=dict)
    depth: int = 0


class MetaFunctions:
    """Meta functions of a tree, indexed on first use.

    Args:
        sources: the tree's native files.
    """

    def __init__(self, sources: NativeSources) -> None:
        self._sources = sources
        self._index: dict[str, Function] | None = None
        self._parents: dict[str, dict[str, list[Function]]] = {}
        self._parent_events: dict[tuple[str, str], tuple[_Event, ...]] = {}
        self._calls: dict[Function, tuple[Call, ...]] = {}

    def find(self, name: str) -> Function | None:
        """The meta function ``x`` of ``TORCH_META_FUNC(x)``, or ``x_y`` of ``TORCH_META_FUNC2(x, y)``."""
        if self._index is None:
            self._index = {
                function.name: function
                for file in self._sources.containing("META_FUNC")
                for function in self._sources.functions(file)
                if _META_MACRO.fullmatch(function.macro)
            }
        return self._index.get(name)

    def outputs(self, name: str, count: int, parent: str | None) -> tuple[MetaOutput, ...]:
        """What the meta function ``name`` asks for each of ``count`` outputs.

        Args:
            name: functional overload's name with ``.`` as ``_`` (``torchgen/api/meta.py``).
            count: number of outputs.
            parent: class that the entry's ``structured_inherits`` names.

        Returns:
            one :class:`MetaOutput` an output; ``unknown`` where nothing was found that sets it.
        """
        function = self.find(name)
        events = list(self._events(_Context(function, _OWN_RECEIVERS), parent)) if function else []
        return tuple(_merge(index, events) for index in range(count))

    def _events(self, context: _Context, parent: str | None) -> Iterable[_Event]:
        if context.depth > _MAX_DEPTH:
            return
        methods = self._methods(parent) if parent else {}
        own = "" in context.receivers
        for call in calls(context.function.body):
            if call.receiver in context.receivers and call.name in _SETTERS:
                yield self._event(call, context)
            elif own and parent and call.receiver in _OWN_RECEIVERS and call.name in methods:
                yield from self._inherited(parent, call.name)
            elif own and parent and call.receiver in _OWN_RECEIVERS and not methods and call.name.startswith("build"):
                site = MetaSite(context.function.file, context.function.line_of(call.offset), call.name)
                yield _Event(None, False, _ITERATOR_LAYOUTS, False, site)
            elif not call.receiver and call.name in self._sources.macros(context.function.file):
                yield from self._events(self._in_macro(call, context), parent)
            elif not call.receiver.endswith((".", "->")):
                yield from self._followed(call, context, parent)

    def _in_macro(self, call: Call, context: _Context) -> _Context:
        """The text a macro call in a body stands for, read in place of the body."""
        macro = self._sources.macros(context.function.file)[call.name]
        line = context.function.line_of(call.offset)
        made = replace(context.function, body=macro.expand(list(call.arguments)), line=line)
        return replace(context, function=made, depth=context.depth + 1)

    def _followed(self, call: Call, context: _Context, parent: str | None) -> Iterable[_Event]:
        """Events of a helper that is handed the meta object, as ``*this`` or by its parameter's name."""
        handed = {"*this"} if "" in context.receivers else {name.rstrip(".") for name in context.receivers}
        positions = [place for place, argument in enumerate(call.arguments) if argument in handed]
        if not positions:
            return
        for helper in self._definitions(call, context):
            names = [parameter.name for parameter in helper.parameters]
            receivers = frozenset(f"{names[place]}." for place in positions if place < len(names) and names[place])
            constants = {
                name: context.constants.get(argument, argument)
                for name, argument in zip(names, call.arguments, strict=False)
                if _is_literal(context.constants.get(argument, argument))
            }
            inner = _Context(helper, receivers, constants, context.depth + 1)
            yield from self._events(inner, None)
            if parent:
                yield from self._built_through(inner, parent)

    def _built_through(self, context: _Context, parent: str) -> Iterable[_Event]:
        """Events of a parent's method that a helper calls on the object it was handed."""
        methods = self._methods(parent)
        for call in calls(context.function.body):
            if call.receiver in context.receivers and (
                call.name in methods or (not methods and call.name.startswith("build"))
            ):
                yield from self._inherited(parent, call.name)

    def _definitions(self, call: Call, context: _Context) -> list[Function]:
        found = self._sources.defining(call.name, context.function.file)
        return best_fitting(found, len(call.arguments))

    def _methods(self, parent: str) -> dict[str, list[Function]]:
        """Methods of a parent class that are defined out of line."""
        if parent not in self._parents:
            methods: dict[str, list[Function]] = {}
            for file in self._sources.containing(f"{parent}::"):
                for function in self._sources.functions(file):
                    if function.qualifier == parent:
                        methods.setdefault(function.name, []).append(function)
            self._parents[parent] = methods
        return self._parents[parent]

    def _inherited(self, parent: str, name: str) -> tuple[_Event, ...]:
        """What a method of the parent class sets, through the methods it calls."""
        key = (parent, name)
        if key not in self._parent_events:
            events: list[_Event] = []
            for method in self._reached_methods(parent, name):
                for function in self._methods(parent)[method]:
                    events += [
                        self._parent_event(call, function)
                        for call in self._own_calls(function)
                        if call.name in _SETTERS
                    ]
            if not self._methods(parent):
                events.append(_Event(None, False, _ITERATOR_LAYOUTS, False, MetaSite("", 0, name)))
            self._parent_events[key] = tuple(events)
        return self._parent_events[key]

    def _reached_methods(self, parent: str, name: str) -> list[str]:
        """The method ``name`` and those of the same class that it calls, however deep."""
        methods = self._methods(parent)
        seen: list[str] = []
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if current in seen or current in _SETTERS or current not in methods:
                continue
            seen.append(current)
            waiting += [call.name for function in methods[current] for call in self._own_calls(function)]
        return seen

    def _own_calls(self, function: Function) -> tuple[Call, ...]:
        """Calls of a method on its own object."""
        if function not in self._calls:
            self._calls[function] = tuple(call for call in calls(function.body) if call.receiver in _OWN_RECEIVERS)
        return self._calls[function]

    def _parent_event(self, call: Call, function: Function) -> _Event:
        """An iterator computes explicit strides from its operands: they are the operands' own order."""
        event = self._event(call, _Context(function, _OWN_RECEIVERS))
        layouts = frozenset(PRESERVED if layout in (EXPLICIT, UNKNOWN) else layout for layout in event.layouts)
        return _Event(None, event.proxied, layouts, False, event.site)

    def _event(self, call: Call, context: _Context) -> _Event:
        index, sizes, strides, options = _setter_arguments(call)
        layouts = self._strides(strides, context, frozenset())
        if layouts == {CONTIGUOUS} and call.name != "set_output_contiguous":
            layouts = self._options(options, context, frozenset()) or frozenset([CONTIGUOUS])
        site = MetaSite(context.function.file, context.function.line_of(call.offset), context.function.name)
        return _Event(
            int(index) if index.isdigit() else None,
            call.name in _PROXIED,
            layouts,
            _is_scalar(sizes, context, frozenset()),
            site,
            _ranks(sizes, context, frozenset()),
        )

    def _strides(self, expression: str, context: _Context, seen: frozenset[str]) -> frozenset[str]:
        value = context.constants.get(expression, expression)
        if not value or _EMPTY.fullmatch(value):
            return frozenset([CONTIGUOUS])
        if ".strides()" in value:
            return frozenset([PRESERVED])
        if re.search(r"\bcontiguous_strides\(", value):
            return frozenset([CONTIGUOUS])
        if _IDENTIFIER.fullmatch(value) and value not in seen:
            found = [self._strides(part, context, seen | {value}) for part in assigned(context.function.body, value)]
            if found:
                return frozenset().union(*found)
        return frozenset([EXPLICIT])

    def _options(self, expression: str, context: _Context, seen: frozenset[str]) -> frozenset[str]:
        """Layouts that tensor options ask for; empty when they say nothing of a memory format."""
        formats = [call.arguments for call in calls(expression) if call.name == "memory_format"]
        if formats:
            wanted = formats[-1][0] if formats[-1] else ""
            return self._memory_format(wanted, context, frozenset())
        leading = _IDENTIFIER.match(expression)
        if not leading or leading[0] in seen:
            return frozenset()
        found = [
            self._options(part, context, seen | {leading[0]}) for part in assigned(context.function.body, leading[0])
        ]
        return frozenset().union(*found)

    def _memory_format(self, expression: str, context: _Context, seen: frozenset[str]) -> frozenset[str]:
        value = context.constants.get(expression, expression).removesuffix(".value()").lstrip("*")
        known = _named_format(value)
        if _EMPTY.fullmatch(value):
            return frozenset()
        if known:
            return frozenset([known])
        if _IDENTIFIER.fullmatch(value):
            if value in seen:
                return frozenset()
            parts = assigned(context.function.body, value)
            found = [self._memory_format(part, context, seen | {value}) for part in parts]
            return frozenset().union(*found) or frozenset([UNKNOWN])
        for call in calls(value):
            if call.offset == value.rfind("::", 0, call.offset + 2) + 2 or call.offset == 0:
                return self._returned_format(call, context)
        return frozenset([UNKNOWN])

    def _returned_format(self, call: Call, context: _Context) -> frozenset[str]:
        """Memory formats that a helper returns."""
        if context.depth > _MAX_DEPTH:
            return frozenset([UNKNOWN])
        found: frozenset[str] = frozenset()
        for helper in self._definitions(call, context):
            inner = _Context(helper, frozenset(), {}, context.depth + 1)
            for value in re.findall(r"\breturn\s+([^;]+);", helper.body):
                found |= self._memory_format(" ".join(value.split()), inner, frozenset())
        return found or frozenset([UNKNOWN])


def _named_format(value: str) -> str:
    if "suggest_memory_format(" in value or "ChannelsLast" in value:
        return CHANNELS_LAST
    if value.endswith(("MemoryFormat::Contiguous", "CONTIGUOUS_MEMORY_FORMAT")):
        return CONTIGUOUS
    return PRESERVED if value.endswith("MemoryFormat::Preserve") else ""


def _setter_arguments(call: Call) -> tuple[str, str, str, str]:
    """Index, sizes, strides and options of a ``set_output_*`` call (``TensorMeta.h``).

    ``set_output`` without a suffix is the form before torch 1.13: with or without index, with or without
    strides.
    """
    arguments = list(call.arguments)
    if call.name == "set_output" and not (arguments and arguments[0].isdigit()):
        arguments.insert(0, "0")
    short = call.name == "set_output_contiguous" or (call.name == "set_output" and len(arguments) < 4)
    if short:
        arguments.insert(2, "")
    arguments += [""] * (4 - len(arguments))
    return arguments[0], arguments[1], arguments[2], arguments[3]


def _is_literal(value: str) -> bool:
    return value in ("true", "false") or value.isdigit() or bool(_EMPTY.fullmatch(value))


def _is_scalar(sizes: str, context: _Context, seen: frozenset[str]) -> bool:
    """Whether sizes are always empty: a literal, or a full reduction (no dims, ``keepdim`` false)."""
    value = context.constants.get(sizes, sizes)
    if _EMPTY.fullmatch(value):
        return True
    if _IDENTIFIER.fullmatch(value) and value not in seen:
        parts = assigned(context.function.body, value)
        return bool(parts) and all(_is_scalar(part, context, seen | {value}) for part in parts)
    # ReduceOpsUtils.h: an empty list of dims reduces all of them.
    outer = value.partition("(")
    arguments = split_arguments(outer[2].rpartition(")")[0]) if outer[1] else []
    if "keepdim" not in arguments or context.constants.get("keepdim") != "false":
        return False
    return any(_is_no_dims(argument, context) for argument in arguments)


def _ranks(sizes: str, context: _Context, seen: frozenset[str]) -> frozenset[int] | None:
    """The lengths of a list of sizes that is written out in braces, wherever it is assigned."""
    value = context.constants.get(sizes, sizes)
    if value.startswith("{") and value.endswith("}"):
        return frozenset([len([part for part in split_arguments(value[1:-1]) if part])])
    if leading := _LEADING_DIMS.fullmatch(value):
        return frozenset([int(leading[1])])
    if _IDENTIFIER.fullmatch(value) and value not in seen:
        listed = re.findall(rf"\b{value}\s*(\{{[^{{}};]*\}})\s*;", context.function.body)
        inside = {text[1:-1].strip() for text in listed}
        written = (*listed, *(part for part in assigned(context.function.body, value) if part.strip() not in inside))
        parts = [_ranks(part, context, seen | {value}) for part in written]
        known = [part for part in parts if part is not None]
        return frozenset().union(*known) if parts and len(known) == len(parts) else None
    return None


def _is_no_dims(expression: str, context: _Context, depth: int = 0) -> bool:
    value = context.constants.get(expression, expression)
    if _EMPTY.fullmatch(value):
        return True
    if not _IDENTIFIER.fullmatch(value) or depth > 2:
        return False
    for part in assigned(context.function.body, value):
        inner = split_arguments(part.partition("(")[2].rpartition(")")[0]) if "(" in part else [part]
        if inner and _is_no_dims(inner[0], context, depth + 1):
            return True
    return False


def _merge(index: int, events: list[_Event]) -> MetaOutput:
    own = [event for event in events if event.index in (index, None)]
    if not own:
        return MetaOutput(index, False, frozenset([UNKNOWN]), False)
    layouts = frozenset().union(*(event.layouts for event in own))
    if PRESERVED in layouts:
        layouts -= {CONTIGUOUS}
    sites = tuple(dict.fromkeys(event.site for event in own))
    known = [event.ranks for event in own if event.ranks is not None]
    return MetaOutput(
        index,
        all(event.proxied for event in own),
        layouts,
        all(event.scalar for event in own),
        sites,
        frozenset().union(*known) if len(known) == len(own) else None,
    )
