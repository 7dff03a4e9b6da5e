"""The C++ files of ``aten/src/ATen/native`` that belong to no other backend, read when first asked for.

Meta functions, composite kernels, and the functions that call a stub live there. A file is blanked and cut
into functions only when something in it is looked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from patchkit.scan.registry.cpp_code import Function, Macro, expansions, functions, macros
from patchkit.scan.registry.cpp_text import blank, without_directives, word_offsets

ATEN = "aten/src/ATen"
NATIVE = f"{ATEN}/native"
MPS = f"{NATIVE}/mps"
# Folders whose code never runs for MPS tensors.
OTHER_BACKENDS = frozenset(
    [
        "ao_sparse",
        "cpu",
        "cuda",
        "cudnn",
        "hexagon",
        "hip",
        "kleidiai",
        "metal",
        "miopen",
        "mkl",
        "mkldnn",
        "mps",
        "nnapi",
        "templates",
        "vulkan",
        "xnnpack",
        "xpu",
    ]
)
_MAX_BYTES = 8 << 20


@dataclass(frozen=True)
class Source:
    """One C++ file: path relative to the root, its blanked text, the same without preprocessor lines."""

    file: str
    text: str
    code: str


class NativeSources:
    """Files and functions of the native folder, cached while one scan runs.

    Args:
        root: the tree's root; it is only read.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._bytes: dict[str, bytes] = {}
        self._sources: dict[str, Source] = {}
        self._functions: dict[str, tuple[Function, ...]] = {}
        self._macros: dict[str, dict[str, Macro]] = {}
        self._defined: dict[tuple[str, str], tuple[Function, ...]] = {}
        self._listed: tuple[str, ...] | None = None

    def files(self) -> tuple[str, ...]:
        """Sources and headers of ``native`` and ``aten/src/ATen``, sorted; other backends left out."""
        if self._listed is None:
            found = {*self._list(ATEN, recurse=False), *self._list(NATIVE, recurse=True)}
            self._listed = tuple(sorted(found))
        return self._listed

    def mps_files(self) -> tuple[str, ...]:
        """Objective-C++ files and headers of the MPS folder, sorted."""
        return tuple(sorted(self._list(MPS, recurse=True, suffixes=(".mm", ".h"))))

    def _list(self, folder: str, *, recurse: bool, suffixes: tuple[str, ...] = (".cpp", ".h")) -> Iterator[str]:
        try:
            with os.scandir(self._root / folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            return
        for entry in entries:
            path = f"{folder}/{entry.name}"
            if entry.name.endswith(suffixes) and entry.is_file(follow_symlinks=False):
                yield path
            elif recurse and entry.name not in OTHER_BACKENDS and entry.is_dir(follow_symlinks=False):
                yield from self._list(path, recurse=True, suffixes=suffixes)

    def raw(self, file: str) -> bytes:
        """Bytes of a file; empty for one that cannot be read or is larger than 8 MB (no source file is)."""
        if file not in self._bytes:
            path = self._root / file
            try:
                data = path.read_bytes() if path.stat().st_size <= _MAX_BYTES else b""
            except OSError:
                data = b""
            self._bytes[file] = data
        return self._bytes[file]

    def containing(self, needle: str, *, mps: bool = False) -> list[str]:
        """Files (of :meth:`files`, or of :meth:`mps_files`) that hold ``needle``."""
        wanted = needle.encode()
        return [file for file in (self.mps_files() if mps else self.files()) if wanted in self.raw(file)]

    def original(self, file: str) -> str:
        """A file's text with its comments and literals, at the same offsets as in :meth:`source`."""
        return self.raw(file).decode("utf-8", errors="replace").replace("\r\n", "\n")

    def source(self, file: str) -> Source:
        """A file's blanked text."""
        if file not in self._sources:
            text = blank(self.original(file))
            self._sources[file] = Source(file, text, without_directives(text))
        return self._sources[file]

    def functions(self, file: str) -> tuple[Function, ...]:
        """Functions a file defines, those made by its own macros included."""
        if file not in self._functions:
            source = self.source(file)
            found = list(functions(source.code, file))
            for text, line in self.expanded(file):
                found += functions(text, file, line)
            self._functions[file] = tuple(found)
        return self._functions[file]

    def macros(self, file: str) -> dict[str, Macro]:
        """Function-like macros a file defines."""
        if file not in self._macros:
            self._macros[file] = macros(self.source(file).text) if b"define" in self.raw(file) else {}
        return self._macros[file]

    def expanded(self, file: str) -> list[tuple[str, int]]:
        """What the file's own macros make at file scope when they hold a body: text and line of the use."""
        makers = _function_makers(self.macros(file))
        if not makers:
            return []
        source = self.source(file)
        return [(text, source.text.count("\n", 0, offset) + 1) for text, offset in expansions(source.code, makers)]

    def defining(self, name: str, near: str) -> tuple[Function, ...]:
        """Definitions of the function that a call in the file ``near`` means.

        Looked for where a compiler would find it: in the file itself, then in headers, then in other
            sources; all definitions (overloads) of the first place that has one.
        """
        key = (name, near)
        if key not in self._defined:
            headers = [file for file in self.files() if file.endswith(".h")]
            sources = [file for file in self.files() if file.endswith(".cpp")]
            for place in ([near], headers, sources):
                found = tuple(self._definitions_in(place, name))
                if found:
                    break
            self._defined[key] = found
        return self._defined[key]

    def _definitions_in(self, files: list[str], name: str) -> Iterator[Function]:
        wanted = name.encode()
        for file in files:
            if wanted in self.raw(file):
                yield from (function for function in self.functions(file) if function.name == name)

    def calling(self, name: str, file: str) -> list[Function]:
        """Functions whose body calls a function that ``file`` defines, directly and not as a method.

        Only that file is read unless a header declares the name too.
        """
        wanted = name.encode()
        if not _is_called(self._headers, wanted):
            return self._mentioning_in([file], name)
        return self._mentioning_in([each for each in self.files() if _is_called(self.raw(each), wanted)], name)

    @cached_property
    def _headers(self) -> bytes:
        return b"\n".join(self.raw(file) for file in self.files() if file.endswith(".h"))

    def mentioning(self, name: str) -> list[Function]:
        """Functions of the native files whose body holds the identifier ``name``."""
        return self._mentioning_in(self.files(), name)

    def _mentioning_in(self, files: Iterable[str], name: str) -> list[Function]:
        wanted = name.encode()
        return [
            function
            for file in files
            if wanted in self.raw(file)
            for function in self.functions(file)
            if any(True for _ in word_offsets(function.body, name))
        ]


def _is_called(data: bytes, name: bytes) -> bool:
    """Whether ``name(`` stands in raw text where it may be a function of ``native`` rather than a method."""
    position = data.find(name)
    while position >= 0:
        end = position + len(name)
        before, after = data[max(0, position - 1) : position], data[end : end + 2].lstrip()[:1]
        free = not (before.isalnum() or before in (b"_", b".", b">", b":"))
        if after in (b"(", b"<") and (free or data[max(0, position - 8) : position] == b"native::"):
            return True
        position = data.find(name, end)
    return False


def _function_makers(known: dict[str, Macro]) -> dict[str, Macro]:
    """Macros whose expansion can define functions: they hold a brace, or use one that does."""
    makers = {name: macro for name, macro in known.items() if "{" in macro.body}
    grown = True
    while grown:
        word = re.compile(r"\b(?:" + "|".join(map(re.escape, makers)) + r")\b") if makers else None
        new = {
            name: macro
            for name, macro in known.items()
            if name not in makers and word is not None and word.search(macro.body)
        }
        makers.update(new)
        grown = bool(new)
    return makers
