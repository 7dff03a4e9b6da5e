"""Calls in the native C++ files, with where their tensors come from: of functions, of stubs, of operators.

An MPS kernel is reached from Python through its own overloads, and through composite functions that call an
operator (``at::fill_``, ``result.normal_()``), a stub, or a C++ function of the MPS folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from patchkit.scan.registry.cpp_code import Call, calls_of
from patchkit.scan.registry.dispatch import OverloadUse
from patchkit.scan.registry.native_sources import NativeSources
from patchkit.scan.registry.origins import Frame, Origin, Origins

_DISPATCHED = re.compile(r"(?:.*::)?at::(?:_ops::)?|.*(?:\.|->)")
_METHOD = re.compile(r"(.*)(?:\.|->)")


@dataclass(frozen=True)
class NativeCall:
    """One call in the native files.

    Args:
        function: C++ function that makes the call, ``x`` for ``TORCH_IMPL_FUNC(x)``.
        file: relative to the tree's root.
        line: 1-based.
        arguments: in the order of the called kernel's parameters: a stub's leading device type is dropped, a
            method's object put in its place, ``out`` arguments moved to the end.
        overloads: operators whose kernels lead to the call.
        origins: for each argument, where it comes from; for a TensorIterator, where its outputs come from.
            Empty for an argument that is neither a tensor nor an iterator.
    """

    function: str
    file: str
    line: int
    arguments: tuple[str, ...]
    overloads: tuple[str, ...]
    origins: tuple[tuple[Origin, ...], ...]


def native_call(
    frame: Frame,
    offset: int,
    arguments: tuple[str, ...],
    origins: Origins,
    positions: frozenset[int] | None = None,
) -> NativeCall:
    """Describe a call at ``offset`` of a frame's body, with ``arguments`` in the callee's order.

    ``positions`` limits the arguments whose origins are looked for.
    """
    return NativeCall(
        frame.function.name,
        frame.function.file,
        frame.function.line_of(offset),
        arguments,
        origins.overloads_into(frame),
        tuple(
            _argument_origins(argument, frame, origins) if positions is None or place in positions else ()
            for place, argument in enumerate(arguments)
        ),
    )


def function_calls(name: str, sources: NativeSources, origins: Origins) -> Iterator[NativeCall]:
    """Direct calls of a C++ function, such as one that an Objective-C++ file defines."""
    for function in sources.mentioning(name):
        for call in calls_of(function.body, name):
            if not _DISPATCHED.fullmatch(call.receiver):
                yield native_call(Frame(function), call.offset, call.arguments, origins)


def operator_calls(use: OverloadUse, sources: NativeSources, origins: Origins) -> Iterator[NativeCall]:
    """Calls of an overload through the dispatcher: ``at::f(...)``, ``at::f_out(...)``, ``tensor.f_(...)``.

    C++ overloads are told apart by the number of arguments only, so a call may stand for several overloads of
    one operator. Origins are given for the arguments the overload writes.
    """
    written = frozenset(output.position for output in use.outputs if output.position is not None)
    names = [use.overload.cpp_name]
    if use.overload.kind == "out":
        names.append(f"{use.overload.cpp_name}f")
    for name in names:
        for function in sources.mentioning(name):
            for call in calls_of(function.body, name):
                arguments = _in_kernel_order(call, use) if _DISPATCHED.fullmatch(call.receiver) else None
                if arguments is not None:
                    yield native_call(Frame(function), call.offset, arguments, origins, written)


def _in_kernel_order(call: Call, use: OverloadUse) -> tuple[str, ...] | None:
    """A dispatched call's arguments as the kernel gets them, or ``None`` when it is another C++ overload."""
    arguments = list(call.arguments)
    method = _METHOD.fullmatch(call.receiver)
    if method:
        names = [parameter.name for parameter in use.parameters]
        if "self" not in names or "method" not in use.overload.variants:
            return None
        arguments.insert(min(names.index("self"), len(arguments)), method[1])
    if use.overload.kind == "out" and not call.name.endswith("_outf"):
        # torchgen/api/cpp.py: the C++ API takes outputs first, kernels and `_outf` take them last.
        count = len(use.overload.outputs)
        arguments = _with_defaults(arguments[count:], use) + arguments[:count]
    required = sum(argument.default is None for argument in use.overload.arguments)
    return tuple(arguments) if required <= len(arguments) <= len(use.overload.arguments) else None


def _with_defaults(arguments: list[str], use: OverloadUse) -> list[str]:
    """Fill in default arguments, so that the outputs that follow stand at their place."""
    inputs = [argument for argument in use.overload.arguments if not argument.is_out]
    return arguments + [argument.default or "" for argument in inputs[len(arguments) :]]


def _argument_origins(argument: str, frame: Frame, origins: Origins) -> tuple[Origin, ...]:
    kind = _argument_kind(argument, frame)
    return origins.of(argument, frame, iterator=kind == "iterator") if kind else ()


def _argument_kind(argument: str, frame: Frame) -> str:
    """Whether an argument is an iterator or a tensor, from its declaration; ``""`` for other things."""
    if argument == "*this":
        return "iterator"
    for parameter in frame.function.parameters:
        if parameter.name == argument:
            return _type_kind(parameter.type)
    if not re.fullmatch(r"\w+", argument):
        return "tensor" if re.search(r"[\w\])]\.\w+\(|\bat::\w+\(|^\w+\[", argument) else ""
    declaration = re.compile(rf"\b([\w:]+(?:<[^;{{}}]*>)?)\s*&?\s+{re.escape(argument)}\s*[=;({{]")
    declared = declaration.search(frame.function.body)
    if not declared:
        return ""
    if declared[1] != "auto":
        return _type_kind(declared[1])
    value = frame.function.body[declared.end() : frame.function.body.find(";", declared.end())]
    if re.search(r"TensorIterator|\biter|_iterator\(|\.build\(", value):
        return "iterator"
    return "tensor" if re.search(r"[\w>]\(|\.", value) else ""


def _type_kind(type_text: str) -> str:
    if "TensorIterator" in type_text:
        return "iterator"
    return "tensor" if "Tensor" in type_text and "TensorOptions" not in type_text else ""


def leading_overloads(found: Iterable[NativeCall]) -> tuple[str, ...]:
    """Overloads that lead to any of the calls, each once, in order."""
    return tuple(dict.fromkeys(name for call in found for name in call.overloads))
