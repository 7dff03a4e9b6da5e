"""Text-level reading of C++: blanked comments and literals, brackets, argument lists, whole words.

Everything works on text whose comments and literals are blanked at equal length, so that offsets stay true,
and every step is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_HIDDEN = re.compile(
    r"""//[^\n]*|/\*(?:.*?\*/|.*)|R"(?P<tag>[^\s()\\]{0,16})\((?:.*?\)(?P=tag)"|.*)"""
    r"""|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)
_NOT_NEWLINE = re.compile(r"[^\n]")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\\\n]|\\.)*(?:\\\n(?:[^\\\n]|\\.)*)*", re.MULTILINE)
_BRACES = re.compile(r"[{}]")
_PARENTHESES = re.compile(r"[()]")
_DELIMITER = re.compile(r"[()\[\]{}<,]")
# `<int, 2>` but not `i < n`: names, numbers and commas only, closed at once.
_TEMPLATE_ARGUMENTS = re.compile(r"(?<=\w)<[\w:,\s*&]{1,200}(?:<[\w:,\s*&]{0,200}>[\w:,\s*&]{0,200})?>")


def blank(text: str) -> str:
    """Replace comments and string contents by spaces; length and newlines stay."""

    def hide(match: re.Match[str]) -> str:
        found = match[0]
        if found[0] in "\"'" and len(found) >= 2:
            return found[0] + " " * (len(found) - 2) + found[0]
        return _NOT_NEWLINE.sub(" ", found)

    return _HIDDEN.sub(hide, text)


def without_directives(text: str) -> str:
    """Blank preprocessor lines, with their continuation lines."""
    return _DIRECTIVE.sub(lambda match: _NOT_NEWLINE.sub(" ", match[0]), text)


def closing(text: str, opening: int, pattern: re.Pattern[str] = _PARENTHESES, within: int = 1 << 31) -> int:
    """Offset of the bracket that closes the one at ``opening``, or the text's length when none does.

    ``within`` bounds how many characters are looked at, where openings that never close may be many.
    """
    depth = 0
    opener = text[opening]
    for match in pattern.finditer(text, opening, min(len(text), opening + within)):
        depth += 1 if match[0] == opener else -1
        if depth == 0:
            return match.start()
    return len(text)


def closing_brace(text: str, opening: int) -> int:
    """Offset of the brace that closes the one at ``opening``, or the text's length when none does."""
    return closing(text, opening, _BRACES)


def pairs(text: str) -> dict[int, int]:
    """Offsets of all parentheses in one pass: opening to closing; unclosed ones map to the text's length."""
    found: dict[int, int] = {}
    stack: list[int] = []
    for match in _PARENTHESES.finditer(text):
        if match[0] == "(":
            stack.append(match.start())
        elif stack:
            found[stack.pop()] = match.start()
    found.update((opening, len(text)) for opening in stack)
    return found


def split_arguments(text: str) -> list[str]:
    """Split an argument list at its commas, outside brackets and template argument lists.

    White space in the parts is reduced to single blanks; an empty list has no part.
    """
    parts: list[str] = []
    depth = start = position = 0
    for match in _DELIMITER.finditer(text):
        if match.start() < position:
            continue
        position = match.end()
        if match[0] in "([{":
            depth += 1
        elif match[0] in ")]}":
            depth -= 1
        elif match[0] == "<":
            template = _TEMPLATE_ARGUMENTS.match(text, match.start())
            position = template.end() if template else position
        elif depth == 0:
            parts.append(" ".join(text[start : match.start()].split()))
            start = match.end()
    last = " ".join(text[start:].split())
    if last or parts:
        parts.append(last)
    return parts


def word_offsets(text: str, word: str) -> Iterator[int]:
    """Offsets where ``word`` stands as a whole identifier."""
    position = text.find(word)
    while position >= 0:
        end = position + len(word)
        if not _is_word(text[position - 1 : position]) and not _is_word(text[end : end + 1]):
            yield position
        position = text.find(word, end)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
