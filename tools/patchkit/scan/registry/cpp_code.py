"""A small reader of C++ code: function definitions, macros and their expansions, calls, assignments.

It knows nothing of types; see :mod:`~patchkit.scan.registry.cpp_text` for the text it works on.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from patchkit.scan.registry.cpp_text import (
    closing,
    closing_brace,
    pairs,
    split_arguments,
    word_offsets,
)

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^()\n]*)\)((?:[^\\\n]|\\\n|\\.)*)", re.MULTILINE)
_STRUCTURE = re.compile(r"[{};]")
_SCOPE = re.compile(r"\b(?:namespace|extern)\b[^()]*$|\b(?:class|struct|union)\b[^()=]*$")
_AFTER_PARAMETERS = re.compile(r"\s*(?:(?:const|noexcept|override|final)\b\s*|->\s*[\w:<>,&*\s]+)*$")
_NAME_BEFORE = re.compile(r"([\w~]+)\s*$")
# Longer argument lists and expansions are not C++ that a person wrote; they are left alone.
_MAX_ARGUMENTS = 1 << 14
_MAX_EXPANSION = 1 << 18
_PASTE = re.compile(r"\s*##\s*")


@dataclass(frozen=True)
class CppParameter:
    """A parameter of a C++ function: its declared type and its name (``""`` when unnamed)."""

    type: str
    name: str


def parse_parameters(text: str) -> tuple[CppParameter, ...]:
    """Read a parameter list, defaults dropped."""
    parameters = []
    for part in split_arguments(text):
        declaration = part.partition("=")[0].strip()
        match = re.search(r"(\w+)\s*(?:\[\w*\])?$", declaration)
        if declaration == "void":
            continue
        if match and match.start() > 0:
            parameters.append(CppParameter(declaration[: match.start()].strip(), match[1]))
        else:
            parameters.append(CppParameter(declaration, ""))
    return tuple(parameters)


@dataclass(frozen=True)
class Function:
    """A function definition found in a text.

    Args:
        name: last component of its name; ``x`` for ``MACRO(x)(parameters)`` and ``x_y`` for ``MACRO(x,
            y)(...)``.
        qualifier: class or namespace written before the name, ``""`` if none.
        macro: the macro of ``MACRO(x)(parameters)``, ``""`` otherwise.
        parameter_text: its parameter list as text.
        body: text between its braces, blanked.
        file: path relative to the tree's root.
        line: 1-based line of the opening brace.
    """

    name: str
    qualifier: str
    macro: str
    parameter_text: str
    body: str
    file: str
    line: int

    @cached_property
    def parameters(self) -> tuple[CppParameter, ...]:
        """Types and names of the parameters."""
        return parse_parameters(self.parameter_text)

    def line_of(self, offset: int) -> int:
        """1-based line in the file of an offset in the body."""
        return self.line + self.body.count("\n", 0, offset)


def functions(text: str, file: str, first_line: int = 1) -> Iterator[Function]:
    """Find the function definitions of a blanked text without directives, in namespaces and classes too."""
    newlines = [match.start() for match in re.finditer("\n", text)]
    position = header_start = 0
    while match := _STRUCTURE.search(text, position):
        position = match.end()
        if match[0] != "{":
            header_start = position
            continue
        header = text[header_start : match.start()]
        if _SCOPE.search(header):
            header_start = position
            continue
        end = closing_brace(text, match.start())
        if ")" in header:
            line = first_line + bisect_right(newlines, match.start())
            function = _function(header, text[match.end() : end], file, line)
            if function:
                yield function
            header_start = end + 1
        position = end + 1


def _function(header: str, body: str, file: str, line: int) -> Function | None:
    """Read the text before a body: the last parenthesis group holds the parameters."""
    header = _constructor_head(header)
    end = header.rfind(")")
    if not _AFTER_PARAMETERS.match(header[end + 1 :]):
        return None
    start = _opening(header, end)
    if start < 0:
        return None
    parameters = header[start + 1 : end]
    before = header[:start].rstrip()
    if before.endswith(")"):
        inner = _opening(before, len(before) - 1)
        named = _NAME_BEFORE.search(before[:inner]) if inner >= 0 else None
        if not named:
            return None
        name = "_".join(split_arguments(before[inner + 1 : -1]))
        return Function(name, "", named[1], parameters, body, file, line)
    named = _NAME_BEFORE.search(before)
    if not named:
        return None
    qualified = re.search(r"(\w+)\s*::\s*$", before[: named.start()])
    return Function(named[1], qualified[1] if qualified else "", "", parameters, body, file, line)


def _constructor_head(header: str) -> str:
    """Cut a constructor's initialiser list (``) : member(value)``) off a header."""
    match = re.search(r"\)\s*:(?!:)", header)
    return header[: match.start() + 1] if match else header


def _opening(text: str, end: int) -> int:
    depth = 0
    for position in range(end, -1, -1):
        if text[position] == ")":
            depth += 1
        elif text[position] == "(":
            depth -= 1
            if depth == 0:
                return position
    return -1


@dataclass(frozen=True)
class Macro:
    """A function-like macro: parameter names, and replacement text as one line."""

    name: str
    parameters: tuple[str, ...]
    body: str

    def expand(self, arguments: list[str]) -> str:
        """Replacement text for ``arguments``; missing ones are empty."""
        values = dict(zip(self.parameters, arguments, strict=False))
        if not values:
            return _PASTE.sub("", self.body)
        pattern = r"\b(" + "|".join(re.escape(name) for name in values) + r")\b"
        return _PASTE.sub("", re.sub(pattern, lambda match: values[match[1]], self.body))


def macros(text: str) -> dict[str, Macro]:
    """Function-like macros that a blanked text defines."""
    found = {}
    for match in _DEFINE.finditer(text):
        parameters = tuple(part.strip() for part in match[2].split(",") if part.strip())
        found[match[1]] = Macro(match[1], parameters, match[3].replace("\\\n", "  "))
    return found


def expansions(text: str, known: Mapping[str, Macro], depth: int = 4) -> Iterator[tuple[str, int]]:
    """Expand file-scope uses of ``known`` macros.

    Args:
        text: blanked, without directives.
        known: macros worth expanding.
        depth: how many macros deep.

    Yields:
        the replacement text of each use, and the offset of the use.
    """
    if not known or depth == 0:
        return
    uses = re.compile(r"\b(" + "|".join(map(re.escape, known)) + r")\s*\(")
    for match in uses.finditer(text):
        end = closing(text, match.end() - 1, within=_MAX_ARGUMENTS)
        expanded = known[match[1]].expand(split_arguments(text[match.end() : end]))
        if len(expanded) > _MAX_EXPANSION:
            continue
        yield expanded, match.start()
        inner = {name: macro for name, macro in known.items() if name != match[1]}
        for nested, _ in expansions(expanded, inner, depth - 1):
            yield nested, match.start()


@dataclass(frozen=True)
class Call:
    """A call in a body: name, what stands before it (``x.``, ``ns::``), arguments, offset of the name."""

    name: str
    receiver: str
    arguments: tuple[str, ...]
    offset: int


def best_fitting(candidates: Iterable[Function], n_arguments: int) -> list[Function]:
    """Of functions with one name, those a call with so many arguments means.

    Exact ones, else those that take more (they may have defaults).
    """
    listed = list(candidates)
    exact = [function for function in listed if len(function.parameters) == n_arguments]
    return exact or [function for function in listed if len(function.parameters) > n_arguments]


_ARGUMENTS_OPEN = re.compile(r"\s*(?:<[\w:,\s*&]{1,120}>\s*)?\(")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)" + _ARGUMENTS_OPEN.pattern)
_ASSIGNED = re.compile(r"\s*(?:=(?!=)\s*([^;]{1,4000});|\(([^;]{0,1000})\)\s*;|\{([^;]{0,1000})\}\s*;)")
_DECLARED = re.compile(r"[\w>&*]\s+$")
_LOOK_BACK = 160
_KEYWORDS = frozenset(["if", "for", "while", "switch", "return", "sizeof", "catch", "decltype", "defined"])


def calls(body: str) -> Iterator[Call]:
    """All calls in a blanked body, outermost and nested, in order."""
    closings: dict[int, int] = {}
    for match in _CALLED.finditer(body):
        if match[1] not in _KEYWORDS:
            closings = closings or pairs(body)
            yield _call(body, match[1], match.start(), match.end() - 1, closings[match.end() - 1])


def calls_of(body: str, name: str) -> Iterator[Call]:
    """Calls of one name in a blanked body, in order."""
    for offset in word_offsets(body, name):
        opening = _ARGUMENTS_OPEN.match(body, offset + len(name))
        if opening:
            yield _call(body, name, offset, opening.end() - 1, closing(body, opening.end() - 1, within=_MAX_ARGUMENTS))


def _call(body: str, name: str, offset: int, opening: int, end: int) -> Call:
    return Call(name, _receiver(body, offset), tuple(split_arguments(body[opening + 1 : end])), offset)


def assigned(body: str, name: str) -> list[str]:
    """Expressions that a body gives to a local variable, at its declaration and later."""
    found = []
    for offset in word_offsets(body, name):
        match = _ASSIGNED.match(body, offset + len(name))
        if not match or body[offset - 1 : offset] in (".", ">"):
            continue
        value = match[1] or match[2] or match[3]
        if value and (match[1] is not None or _DECLARED.search(body[max(0, offset - 40) : offset])):
            found.append(" ".join(value.split()))
    return found


def _receiver(body: str, offset: int) -> str:
    """What a name is called on, with its ``.``, ``->`` or ``::``; ``""`` for a plain call."""
    end = start = _skip_blanks(body, offset)
    floor = max(0, offset - _LOOK_BACK)
    while start > floor and (mark := _access_before(body, start)):
        start = _component_start(body, _skip_blanks(body, start - len(mark)), floor)
        if _access_before(body, _skip_blanks(body, start)):
            start = _skip_blanks(body, start)
        else:
            break
    return "".join(body[start:end].split())


def _skip_blanks(body: str, end: int) -> int:
    while end > 0 and body[end - 1].isspace():
        end -= 1
    return end


def _access_before(body: str, end: int) -> str:
    if body[end - 1 : end] == ".":
        return "."
    pair = body[max(0, end - 2) : end]
    return pair if pair in ("->", "::") else ""


def _component_start(body: str, end: int, floor: int) -> int:
    """Start of the name, call or subscript that ends at ``end``."""
    position = end
    while position > floor and body[position - 1] in ")]":
        depth = 0
        while position > floor:
            position -= 1
            depth += (body[position] in ")]") - (body[position] in "([")
            if depth == 0:
                break
    while position > floor and (body[position - 1].isalnum() or body[position - 1] == "_"):
        position -= 1
    return position
