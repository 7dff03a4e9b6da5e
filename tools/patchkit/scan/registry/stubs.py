"""Dispatch stubs with an MPS kernel: where they are registered, and which operators call them with what.

A stub (``aten/src/ATen/native/DispatchStub.h``) is how code shared by backends in ``native/*.cpp`` reaches
the MPS kernel that an Objective-C++ file registers with ``REGISTER_DISPATCH`` or ``REGISTER_MPS_DISPATCH``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from patchkit.scan.registry.cpp_code import Call, calls, expansions
from patchkit.scan.registry.cpp_text import split_arguments
from patchkit.scan.registry.native_calls import NativeCall, leading_overloads, native_call
from patchkit.scan.registry.native_sources import NativeSources
from patchkit.scan.registry.origins import Frame, Origins

_REGISTRATION = re.compile(r"\bREGISTER_(?:MPS_)?DISPATCH\s*\(([^()]*)\)")


@dataclass(frozen=True)
class StubUse:
    """A stub with an MPS kernel.

    Args:
        name: of the stub.
        kernel: C++ function registered for MPS, without namespaces.
        file, line: of the registration; the line is 1-based.
        calls: the stub's calls.
    """

    name: str
    kernel: str
    file: str
    line: int
    calls: tuple[NativeCall, ...]

    @property
    def overloads(self) -> tuple[str, ...]:
        """All operators that reach the stub."""
        return leading_overloads(self.calls)


@dataclass(frozen=True)
class Registration:
    """A stub's name and its MPS kernel, with file and 1-based line."""

    stub: str
    kernel: str
    file: str
    line: int


def registrations(sources: NativeSources) -> Iterator[Registration]:
    """Stub registrations of the MPS folder, those inside macros included."""
    for file in sources.containing("REGISTER_", mps=True):
        source = sources.source(file)
        makers = {name: macro for name, macro in sources.macros(file).items() if "REGISTER_" in macro.body}
        texts = [(source.code, 0), *expansions(source.code, makers)]
        for text, offset in texts:
            for match in _REGISTRATION.finditer(text):
                arguments = split_arguments(match[1])
                if len(arguments) == 2:
                    kernel = arguments[1].lstrip("&").rpartition("::")[2]
                    place = offset + match.start() if text is source.code else offset
                    yield Registration(arguments[0], kernel, file, source.text.count("\n", 0, place) + 1)


def stub_calls(stub: str, sources: NativeSources, origins: Origins) -> Iterator[NativeCall]:
    """Calls of a stub: by its name, or through a helper that is handed the stub."""
    for frame, call in _sites(stub, sources):
        yield native_call(frame, call.offset, call.arguments[1:], origins)


def _sites(stub: str, sources: NativeSources) -> Iterable[tuple[Frame, Call]]:
    for function in sources.mentioning(stub):
        for call in calls(function.body):
            if call.name == stub and not call.receiver:
                yield Frame(function), call
            elif stub in call.arguments:
                yield from _handed_sites(stub, call, Frame(function), sources)


def _handed_sites(stub: str, call: Call, frame: Frame, sources: NativeSources) -> Iterable[tuple[Frame, Call]]:
    """Calls of the stub under the name of a helper's parameter."""
    position = call.arguments.index(stub)
    for helper in sources.defining(call.name, frame.function.file):
        if position >= len(helper.parameters) or frame.depth > 4:
            continue
        name = helper.parameters[position].name
        inside = Frame(helper, frame, call.arguments)
        for inner in calls(helper.body):
            if inner.name == name:
                yield inside, inner
            elif name in inner.arguments and name:
                yield from _handed_sites(name, inner, inside, sources)
