"""Where a tensor in a native C++ function comes from: the caller of an operator, or a fresh allocation.

Follows local variables, TensorIterator builders, helper functions down and callers up, within the native
files. It answers for composite functions and stub calls what the meta functions answer for structured
kernels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from patchkit.scan.registry.cpp_code import Call, Function, assigned, best_fitting, calls, calls_of
from patchkit.scan.registry.cpp_text import word_offsets
from patchkit.scan.registry.dispatch import KernelUse, OverloadUse
from patchkit.scan.registry.matching import matching_uses
from patchkit.scan.registry.meta import CHANNELS_LAST, CONTIGUOUS, PRESERVED, UNKNOWN
from patchkit.scan.registry.native_sources import NativeSources

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_WRAPPED = re.compile(r"(?:std::move|std::forward(?:<[^()]*>)?|const_cast<[^()]*>|static_cast<[^()]*>)\((.*)\)")
_ADD_OUTPUT = re.compile(r"add_(?:owned_|borrowed_)?output")
_ITERATOR_CLASS = re.compile(r"(?:\w+::)*TensorIterator(?:Base)?::")
_TENSOR_DECLARATION = re.compile(r"\bTensor\s+(?:\w+\s*,\s*)*$")
_ALLOCATION = re.compile(r"(?:new_)?(?:empty|zeros|ones|full)(?:_like|_mps|_symint|_strided|_quantized)?|clone|to")
# Methods that return the same storage (or, for contiguous tensors, the same tensor).
_VIEWS = frozenset(
    [
        "view",
        "view_as",
        "reshape",
        "reshape_as",
        "flatten",
        "unflatten",
        "squeeze",
        "unsqueeze",
        "select",
        "narrow",
        "slice",
        "t",
        "transpose",
        "permute",
        "movedim",
        "swapaxes",
        "expand",
        "expand_as",
        "as_strided",
        "alias",
        "detach",
        "resize_",
        "resize_as_",
        "mT",
        "mH",
        "diagonal",
        "unfold",
    ]
)
_ITERATOR_FRESH = frozenset([PRESERVED, CHANNELS_LAST])
_MAX_DEPTH = 10
# Calls above a function that are followed up to a kernel; longer ways are shared utilities, not the operator.
_MAX_UP = 4
_MAX_CALLERS = 64
_MAX_STEPS = 400

Owner = Literal["caller", "fresh", "input", "unknown"]


@dataclass(frozen=True)
class Origin:
    """Where a tensor comes from, on one way into a function.

    Args:
        owner: ``caller`` (an output argument or in-place self of ``overload``), ``fresh`` (allocated on the
            way), ``input`` (an argument the schema does not mark written), ``unknown``.
        layouts: of a fresh tensor, in the terms of :class:`~patchkit.scan.registry.meta.MetaOutput`.
        proxied: a structured ``out=`` that may be a proxy.
        overload: the operator whose kernel the way starts in.
        via: functions on the way, the kernel first.
        exact: ``False`` when the code could not be followed and the answer rests on the overload's schema
            alone.
    """

    owner: Owner
    layouts: frozenset[str]
    proxied: bool
    overload: str = ""
    via: tuple[str, ...] = ()
    exact: bool = True


@dataclass(frozen=True)
class Frame:
    """A function, the call that entered it when the way is known, and the overload the way starts from."""

    function: Function
    caller: Frame | None = None
    arguments: tuple[str, ...] = ()
    use: OverloadUse | None = None

    @property
    def depth(self) -> int:
        """Number of calls above this one."""
        return 0 if self.caller is None else self.caller.depth + 1

    @property
    def top(self) -> Frame:
        """The frame the way starts in."""
        return self if self.caller is None else self.caller.top

    @property
    def via(self) -> tuple[str, ...]:
        """Function names from the top down."""
        above = self.caller.via if self.caller else ()
        return (*above, self.function.name)


StructuredOutputs = Callable[[OverloadUse], Iterable[tuple[Owner, frozenset[str], bool]]]


class Origins:
    """Answers where tensors come from in the native files of one tree.

    Args:
        sources: the native files.
        kernel: looks up a kernel by its C++ name.
        structured: owner, layouts and proxy of each output of a structured use.
    """

    def __init__(
        self,
        sources: NativeSources,
        kernel: Callable[[str], KernelUse | None],
        structured: StructuredOutputs,
    ) -> None:
        self._sources = sources
        self._kernel = kernel
        self._structured = structured
        self._callers: dict[tuple[str, str], tuple[tuple[Function, Call], ...]] = {}
        self._active: set[tuple[str, Frame, _Asked]] = set()
        self._steps = 0

    def of(self, expression: str, frame: Frame, *, iterator: bool = False) -> tuple[Origin, ...]:
        """Origins of an expression.

        Args:
            expression: C++ text in ``frame.function``.
            frame: the function, with its known caller if any.
            iterator: the expression is a TensorIterator; its outputs are asked for.
        """
        found: dict[Origin, None] = {}
        for entry in self._entries(frame, 0, frozenset()):
            for use in self._overloads(entry.top.function):
                way = _started(entry, use)
                self._steps = _MAX_STEPS
                for origin in self._resolve(expression, way, _Asked(iterator, False)):
                    found[_settle(origin, use, way.via)] = None
        return tuple(found)

    def overloads_into(self, frame: Frame) -> tuple[str, ...]:
        """Overloads whose kernels lead into a frame."""
        found: dict[str, None] = {}
        for entry in self._entries(frame, 0, frozenset()):
            for use in self._overloads(entry.top.function):
                found[use.overload.name] = None
        return tuple(found)

    def _entries(self, frame: Frame, depth: int, seen: frozenset[tuple[str, str]]) -> Iterable[Frame]:
        """The same frame on each way that starts in a kernel of the dispatch table."""
        top = frame.top
        if self._overloads(top.function):
            yield frame
        key = (top.function.name, top.function.parameter_text)
        if depth >= _MAX_UP or key in seen or top.function.macro or not _is_free(top.function):
            return
        for function, call in self.callers(top.function):
            above = Frame(function)
            yield from self._entries(_stack(frame, above, call.arguments), depth + 1, seen | {key})

    def _overloads(self, function: Function) -> tuple[OverloadUse, ...]:
        """The overloads whose kernel a function is."""
        kernel = self._kernel(function.name) if _is_free(function) else None
        if kernel is None:
            return ()
        if function.macro.endswith("IMPL_FUNC"):
            return tuple(use for use in kernel.uses if use.structured)
        types = [f"{parameter.type} {parameter.name}".strip() for parameter in function.parameters]
        uses = [use for use in matching_uses(kernel, types) if not use.structured]
        return tuple(use for use in uses if len(use.parameters) == len(types) and not function.macro)

    def callers(self, function: Function) -> tuple[tuple[Function, Call], ...]:
        """Functions of the native files that call ``function`` directly, not through the dispatcher."""
        key = (function.name, function.parameter_text)
        if key not in self._callers:
            self._callers[key] = tuple(self._find_callers(function))[:_MAX_CALLERS]
        return self._callers[key]

    def _find_callers(self, function: Function) -> Iterable[tuple[Function, Call]]:
        siblings = self._sources.defining(function.name, function.file)
        for caller in self._sources.calling(function.name, function.file):
            if caller.name == function.name and caller.parameter_text == function.parameter_text:
                continue
            for call in calls_of(caller.body, function.name):
                direct = call.receiver == "" or call.receiver.endswith(("native::", "detail::"))
                if direct and function in best_fitting(siblings, len(call.arguments)):
                    yield caller, call

    def _resolve(self, expression: str, frame: Frame, asked: _Asked) -> list[Origin]:
        """Origins of an expression; a way that leads back to itself adds none."""
        value = _unwrap(expression)
        key = (value, frame, asked)
        if key in self._active:
            return []
        self._steps -= 1
        if self._steps < 0 or frame.depth > _MAX_DEPTH:
            return [_UNKNOWN_ORIGIN]
        self._active.add(key)
        try:
            if value == "*this":
                return self._structured_origins(frame)
            if _IDENTIFIER.fullmatch(value):
                return self._of_name(value, frame, asked)
            return self._of_builder(value, frame) if asked.iterator else self._of_call(value, frame, asked)
        finally:
            self._active.remove(key)

    def _structured_origins(self, frame: Frame) -> list[Origin]:
        use = frame.top.use
        if use is None:
            return [_UNKNOWN_ORIGIN]
        return [Origin(owner, layouts, proxied) for owner, layouts, proxied in self._structured(use)]

    def _of_name(self, name: str, frame: Frame, asked: _Asked) -> list[Origin]:
        names = [parameter.name for parameter in frame.function.parameters]
        found = self._of_parameter(names.index(name), frame, asked) if name in names else []
        values = assigned(frame.function.body, name)
        for value in values:
            found += self._resolve(value, frame, asked)
        if values or found:
            return found
        if not asked.iterator and _is_declared_undefined(frame.function.body, name):
            return [Origin("fresh", _ITERATOR_FRESH if asked.resized else frozenset([UNKNOWN]), False)]
        return [_UNKNOWN_ORIGIN]

    def _of_parameter(self, position: int, frame: Frame, asked: _Asked) -> list[Origin]:
        if frame.caller is not None:
            known = position < len(frame.arguments)
            return self._resolve(frame.arguments[position], frame.caller, asked) if known else []
        if frame.use is None or position >= len(frame.use.parameters):
            return [_UNKNOWN_ORIGIN]
        if frame.use.parameters[position].role == "input":
            return [Origin("input", frozenset(), False)]
        index = [output.position for output in frame.use.outputs].index(position)
        return [Origin(*list(self._structured(frame.use))[index])]

    def _of_builder(self, value: str, frame: Frame) -> list[Origin]:
        """Outputs of an iterator that an expression builds."""
        found = list(calls(value))
        outputs = [call.arguments[0] for call in found if _ADD_OUTPUT.fullmatch(call.name) and call.arguments]
        for call in found:
            if call.name == "build" and not outputs:
                config = call.receiver.rstrip(".")
                outputs = [
                    added.arguments[0]
                    for added in calls(frame.function.body)
                    if _ADD_OUTPUT.fullmatch(added.name) and added.receiver.startswith(f"{config}.") and added.arguments
                ]
        first = found[0] if found else None
        if not outputs and first and first.arguments and _ITERATOR_CLASS.fullmatch(first.receiver):
            # TensorIterator.h: the named builders take the output first.
            outputs = [first.arguments[0]]
        if outputs:
            return [origin for output in outputs for origin in self._resolve(output, frame, _Asked(False, True))]
        return self._returned(first, frame, _Asked(True, False)) if first else [_UNKNOWN_ORIGIN]

    def _of_call(self, value: str, frame: Frame, asked: _Asked) -> list[Origin]:
        outer = _outer_call(value)
        if outer is None:
            return [_UNKNOWN_ORIGIN]
        if outer.name in _VIEWS and outer.receiver.endswith("."):
            return self._resolve(outer.receiver[:-1], frame, asked)
        if outer.name == "contiguous" and outer.receiver.endswith("."):
            return [Origin("fresh", frozenset([CONTIGUOUS]), False)]
        if _ALLOCATION.fullmatch(outer.name):
            return [Origin("fresh", _allocated(outer, asked.resized), False)]
        return self._returned(outer, frame, asked)

    def _returned(self, call: Call, frame: Frame, asked: _Asked) -> list[Origin]:
        """Origins of what a helper returns."""
        if call.receiver.endswith((".", "->")):
            return [_UNKNOWN_ORIGIN]
        found: list[Origin] = []
        helpers = self._sources.defining(call.name, frame.function.file)
        for helper in best_fitting(helpers, len(call.arguments)):
            inside = Frame(helper, frame, call.arguments)
            for value in re.findall(r"\breturn\s+([^;]+);", helper.body):
                found += self._resolve(" ".join(value.split()), inside, asked)
        return found or [_UNKNOWN_ORIGIN]


@dataclass(frozen=True)
class _Asked:
    """What is asked of an expression: the outputs of an iterator, or a tensor that an iterator may resize."""

    iterator: bool
    resized: bool


_UNKNOWN_ORIGIN = Origin("unknown", frozenset(), False)


def _settle(origin: Origin, use: OverloadUse, via: tuple[str, ...]) -> Origin:
    """Fill in the overload; what could not be followed falls back on what its schema says it writes."""
    settled = replace(origin, overload=use.overload.name, via=via)
    if origin.owner != "unknown":
        return settled
    if use.overload.kind in ("inplace", "out", "mutable"):
        return replace(settled, owner="caller", exact=False)
    return replace(settled, owner="fresh", layouts=frozenset([UNKNOWN]), exact=False)


def _stack(frame: Frame, above: Frame, arguments: tuple[str, ...]) -> Frame:
    """Put a caller on top of a frame's way."""
    if frame.caller is None:
        return Frame(frame.function, above, arguments)
    return Frame(frame.function, _stack(frame.caller, above, arguments), frame.arguments)


def _is_free(function: Function) -> bool:
    """Whether it is a function of a namespace rather than a method that is defined out of line."""
    return function.qualifier in ("", "native", "mps", "detail")


def _started(frame: Frame, use: OverloadUse) -> Frame:
    """The same way, with the overload its top frame implements."""
    caller = _started(frame.caller, use) if frame.caller else None
    return replace(frame, caller=caller, use=use if caller is None else None)


def _is_declared_undefined(body: str, name: str) -> bool:
    """Whether a body declares ``Tensor name;``, alone or in a list."""
    for offset in word_offsets(body, name):
        after = body[offset + len(name) :][:8].lstrip()[:1]
        if after in (";", ",") and _TENSOR_DECLARATION.search(body[max(0, offset - 120) : offset]):
            return True
    return False


def _unwrap(expression: str) -> str:
    value = expression.strip()
    while (match := _WRAPPED.fullmatch(value)) and match[1].count("(") == match[1].count(")"):
        value = match[1].strip()
    return value if value == "*this" else value.removesuffix(".value()").lstrip("*&")


def _outer_call(value: str) -> Call | None:
    """The call whose result an expression is: the one that ends where the expression ends."""
    if not value.endswith(")"):
        return None
    last = None
    for call in calls(value):
        opening = value.index("(", call.offset)
        depth = 0
        for position in range(opening, len(value)):
            depth += (value[position] == "(") - (value[position] == ")")
            if depth == 0:
                if position == len(value) - 1 and last is None:
                    last = call
                break
    return last


def _allocated(call: Call, resized: bool) -> frozenset[str]:
    """Layout of a fresh allocation; an empty one that an iterator resizes gets the inputs' strides."""
    text = ", ".join(call.arguments)
    if "suggest_memory_format(" in text or "ChannelsLast" in text:
        return frozenset([CHANNELS_LAST])
    if resized and call.arguments and call.arguments[0].replace(" ", "") in ("{0}", "0"):
        return _ITERATOR_FRESH
    if "MemoryFormat::Contiguous" in text or "CONTIGUOUS_MEMORY_FORMAT" in text:
        return frozenset([CONTIGUOUS])
    if call.name.endswith("_like") or call.name in ("clone", "to"):
        return _ITERATOR_FRESH
    return frozenset([UNKNOWN]) if call.name.endswith("_strided") else frozenset([CONTIGUOUS])
