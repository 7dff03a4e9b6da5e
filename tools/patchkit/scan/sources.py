"""The MPS sources of a tree, parsed: files, the functions in them, and what could not be read.

A file is masked (:mod:`patchkit.scan.mask`), parsed with tree-sitter-cpp, and indexed by function. Kernels that a
macro writes (``CREATE_..._FUNC(name, ...)``) are expanded and indexed like any other, at the line of the macro.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.scan.mask import MacroDefinition, MaskedSource, mask, split_arguments
from patchkit.scan.syntax import Expr, Function, Lowering, Opaque, Stmt
from patchkit.source.tree import MPS_FOLDER

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

#: A source file larger than this is not a kernel file; it is reported and not read. Nor do macros write more.
MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Problem:
    """A file or function that could not be read: why, and where."""

    file: str
    line: int
    function: str
    why: str


@dataclass
class SourceFile:
    """One parsed file; ``path`` is relative to the tree."""

    path: str
    source: bytes
    masked: MaskedSource
    functions: list[Function] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _line_starts: list[int] | None = None

    def position(self, offset: int) -> tuple[int, int]:
        """Return the 1-based line and column of a byte offset."""
        import bisect

        if self._line_starts is None:
            self._line_starts = [0, *(m.end() for m in re.finditer(rb"\n", self.source))]
        line = bisect.bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1


@dataclass
class Sources:
    """All MPS sources of a tree, and an index of their functions by name."""

    root: Path
    files: dict[str, SourceFile] = field(default_factory=dict)
    functions: dict[str, list[Function]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def add(self, file: SourceFile) -> None:
        """Index a parsed file."""
        self.files[file.path] = file
        self.problems.extend(file.problems)
        for function in file.functions:
            self.functions.setdefault(function.name, []).append(function)

    def position(self, path: str, offset: int) -> tuple[int, int]:
        """Return the 1-based line and column of a byte offset in a file."""
        return self.files[path].position(offset)

    def place(self, function: Function, offset: int) -> int:
        """The offset in the file of an offset in a function: of a macro's kernel, the start of that line."""
        if not function.expanded:
            return offset
        source = self.files[function.file].source
        place = function.start
        for _ in range(function.text[:offset].count(b"\n")):
            place = source.find(b"\n", place) + 1
        return place


def parser() -> Parser:
    """Return a C++ parser."""
    import tree_sitter
    import tree_sitter_cpp

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))


def kernel_files(root: Path, problems: list[Problem] | None = None) -> Iterator[Path]:
    """Yield the Objective-C++ and C++ sources and headers under the MPS folder, in name order; links are not followed.

    Args:
        root: the tree's root.
        problems: gets a folder that cannot be listed.
    """

    def report(error: OSError) -> None:
        if problems is not None:
            name = Path(error.filename).relative_to(root).as_posix()
            problems.append(Problem(name, 1, "", f"the folder cannot be read: {error.strerror}"))

    found: list[Path] = []
    for folder, _, names in os.walk(root / MPS_FOLDER, onerror=report):
        found.extend(Path(folder, name) for name in names if name.endswith((".mm", ".h", ".cpp")))
    yield from (path for path in sorted(found) if not path.is_symlink() and path.is_file())


def load_sources(root: Path, replaced: Mapping[str, bytes] | None = None) -> Sources:
    """Read, mask and parse every MPS source of a tree.

    Args:
        root: the tree's root.
        replaced: contents to use instead of those on disk, by path relative to the tree.

    Returns:
        The parsed files. A file that cannot be read or is no text becomes a :class:`Problem`, never an exception.
    """
    sources = Sources(root)
    cpp = parser()
    for path in kernel_files(root, sources.problems):
        relative = path.relative_to(root).as_posix()
        data = (replaced or {}).get(relative)
        if data is None:
            data = _read(path, relative, sources.problems)
        if data is not None:
            sources.add(parse_file(relative, data, cpp))
    return sources


def _read(path: Path, relative: str, problems: list[Problem]) -> bytes | None:
    try:
        before = path.stat()
        if before.st_size > MAX_BYTES:
            problems.append(Problem(relative, 1, "", f"the file has {before.st_size} bytes, more than any kernel file"))
            return None
        data = path.read_bytes()
        after = path.stat()
        if (len(data), after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            problems.append(Problem(relative, 1, "", "the file changed while it was read"))
            return None
    except OSError as error:
        problems.append(Problem(relative, 1, "", f"the file cannot be read: {error.strerror}"))
        return None
    if b"\0" in data:
        problems.append(Problem(relative, 1, "", "the file is binary, not source text"))
        return None
    return data


def parse_file(relative: str, data: bytes, cpp: Parser) -> SourceFile:
    """Mask and parse one file and find its functions.

    Args:
        relative: path to report.
        data: the file's bytes; bytes that are not UTF-8 are kept, as Latin-1 letters would be.
        cpp: a parser from :func:`parser`.
    """
    masked = mask(data)
    file = SourceFile(relative, data, masked)
    _index(file, masked, masked.plain, cpp)
    _expand_macros(file, cpp)
    return file


def _index(file: SourceFile, masked: MaskedSource, text: bytes, cpp: Parser, *, expanded: bool = False) -> None:
    tree = cpp.parse(masked.text)
    lowering = Lowering(masked, text)
    stack: list[Node] = [tree.root_node]
    while stack:
        node = stack.pop()
        for child in reversed(node.named_children):
            kind = child.type
            if kind == "function_definition":
                try:
                    function = _function(file, child, lowering, text, expanded)
                except RecursionError:
                    line = file.position(child.start_byte)[0]
                    file.problems.append(Problem(file.path, line, "", "a parameter is nested too deeply to follow"))
                    continue
                if function is not None:
                    file.functions.append(function)
            elif kind in _CONTAINERS:
                stack.append(child)
            elif kind == "ERROR":
                _error(file, child, text)
                stack.append(child)


_CONTAINERS = frozenset(
    ("namespace_definition", "declaration_list", "template_declaration", "linkage_specification", "class_specifier",
     "struct_specifier", "field_declaration_list", "declaration", "preproc_if", "preproc_ifdef", "preproc_else")
)  # fmt: skip
_MATTERS = re.compile(rb"Placeholder\b|runMPSGraph|\.copy_\(")


def _error(file: SourceFile, node: Node, text: bytes) -> None:
    if _MATTERS.search(text, node.start_byte, node.end_byte):
        line = file.position(node.start_byte)[0]
        file.problems.append(Problem(file.path, line, "", "the parser cannot read this part of the file"))


def _function(file: SourceFile, node: Node, lowering: Lowering, text: bytes, expanded: bool) -> Function | None:
    declarator = node.child_by_field_name("declarator")
    body = node.child_by_field_name("body")
    returns = ""
    while declarator is not None and declarator.type != "function_declarator":
        if declarator.type in ("pointer_declarator", "reference_declarator"):
            returns += "*" if declarator.type == "pointer_declarator" else "&"
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            inner = next((c for c in declarator.named_children if c.type.endswith("declarator")), None)
        declarator = inner
    if declarator is None or body is None or body.type != "compound_statement":
        return None
    name_node = declarator.child_by_field_name("declarator")
    listed = declarator.child_by_field_name("parameters")
    if name_node is None or listed is None:
        return None
    full = re.sub(rb"\s+|<[^<>]*>", b"", name_node.text or b"").decode("utf-8", "replace")
    scope, _, name = full.rpartition("::")
    structured = name_node.start_byte in lowering.masked.structured
    type_node = node.child_by_field_name("type")
    before = text[node.start_byte : name_node.start_byte]
    initializers: list[tuple[str, Expr]] = []
    for child in node.named_children:
        if child.type == "field_initializer_list":
            for entry in child.named_children:
                parts = entry.named_children
                if entry.type == "field_initializer" and len(parts) == 2:
                    values = lowering.arguments(parts[1])
                    value = values[0] if values else Opaque(entry.start_byte, entry.end_byte, "")
                    initializers.append((lowering.source_text(parts[0]), value))
    parameters = lowering.parameters(listed)
    return Function(
        name=name,
        scope=scope.rpartition("::")[2],
        file=file.path,
        start=node.start_byte,
        end=node.end_byte,
        body_start=body.start_byte,
        structured=structured,
        static=bool(re.search(rb"\bstatic\b|\binline\b", before)),
        has_error=node.has_error,
        parameters=parameters,
        returns=(lowering.source_text(type_node) if type_node is not None else "") + returns,
        text=text if expanded else text[node.start_byte : node.end_byte],
        expanded=expanded,
        _lower=_lowerer(lowering, body),
        initializers=initializers,
    )


def _lowerer(lowering: Lowering, body: Node):  # type: ignore[no-untyped-def]
    def lower() -> list[Stmt]:
        return lowering.body(body)

    return lower


# -- kernels written by macros -------------------------------------------------------------------------


_WRITES_FUNCTION = re.compile(rb"TORCH_IMPL_FUNC\s*\(|\bTensor\s*&?\s*[\w#]+\s*\(|\bvoid\s+[\w#]+\s*\(")


def _expand_macros(file: SourceFile, cpp: Parser) -> None:
    writers = {
        d.name: d
        for d in file.masked.macro_definitions
        if d.parameters
        and b"{" in file.source[d.start : d.end]
        and _WRITES_FUNCTION.search(file.source, d.start, d.end)
    }
    if not writers:
        return
    plain = file.masked.plain
    names = b"|".join(re.escape(n.encode()) for n in writers)
    written = 0
    for match in re.finditer(rb"^[ \t]*(" + names + rb")\s*\(", plain, re.MULTILINE):
        definition = writers[match.group(1).decode()]
        if definition.start <= match.start() < definition.end:
            continue
        end = file.masked.parentheses.end(match.end() - 1)
        if end < 0 or not _ENDS_LINE.match(plain, end):
            continue
        text = expand(definition, file.source, split_arguments(plain[match.end() : end - 1]))
        written += len(text)
        if written > MAX_BYTES:
            why = f"the macros of this file write more than {MAX_BYTES} bytes"
            file.problems.append(Problem(file.path, file.position(match.start())[0], "", why))
            return
        expanded = mask(text)
        sub = SourceFile(file.path, text, expanded)
        _index(sub, expanded, expanded.plain, cpp, expanded=True)
        for function in sub.functions:
            function.start, function.end, function.body_start = definition.start, definition.end, definition.start
            file.functions.append(function)


_ENDS_LINE = re.compile(rb"[ \t]*;?[ \t]*(?://[^\n]*)?\r?$", re.MULTILINE)


def expand(definition: MacroDefinition, source: bytes, arguments: tuple[str, ...]) -> bytes:
    """Expand a function-like macro: parameters replaced, ``#`` and ``##`` done, line breaks kept."""
    body = source[definition.start : definition.end].replace(b"\\\n", b" \n").replace(b"\\\r\n", b" \r\n")
    values = dict(zip(definition.parameters, arguments, strict=False))
    if definition.parameters and definition.parameters[-1] == "...":
        values["__VA_ARGS__"] = ", ".join(arguments[len(definition.parameters) - 1 :])

    def stringize(match: re.Match[bytes]) -> bytes:
        value = values.get(match.group(1).decode())
        return match.group(0) if value is None else b'"' + value.encode() + b'"'

    def substitute(match: re.Match[bytes]) -> bytes:
        value = values.get(match.group(0).decode())
        return match.group(0) if value is None else value.encode()

    body = re.sub(rb"(?<!#)#\s*([A-Za-z_]\w*)", stringize, body)
    body = re.sub(rb"[A-Za-z_]\w*", substitute, body)
    return re.sub(rb"\s*##\s*", b"", body)
