"""Edits of a file's bytes: replace and insert, all at once, with offsets that can be followed through."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class TextEdit:
    """Bytes ``start`` to ``end`` of a file become ``text``; equal offsets insert."""

    start: int
    end: int
    text: bytes


class OverlapError(Exception):
    """Two edits change the same bytes."""


def in_order(edits: Iterable[TextEdit]) -> list[TextEdit]:
    """Return the distinct edits by offset; insertions at one place keep the order they were given in.

    Raises:
        OverlapError: two edits want the same bytes.
    """
    ordered = sorted(dict.fromkeys(edits), key=lambda edit: (edit.start, edit.end))
    for before, after in pairwise(ordered):
        if after.start < before.end:
            raise OverlapError
    return ordered


def apply_edits(source: bytes, edits: Sequence[TextEdit]) -> bytes:
    """Return ``source`` with ``edits`` made; they must be in order."""
    parts, done = [], 0
    for edit in edits:
        parts += [source[done : edit.start], edit.text]
        done = edit.end
    return b"".join([*parts, source[done:]])


def moved(offset: int, edits: Sequence[TextEdit]) -> int:
    """Return where the byte at ``offset`` is after ``edits``; of replaced text, where its replacement starts."""
    shift = 0
    for edit in edits:
        if edit.start > offset:
            break
        if edit.start <= offset < edit.end:
            return edit.start + shift
        shift += len(edit.text) - (edit.end - edit.start)
    return offset + shift


def line_start(source: bytes, offset: int) -> int:
    """Return the offset of the first byte of the line that ``offset`` is in."""
    return source.rfind(b"\n", 0, offset) + 1


def line_end(source: bytes, offset: int) -> int:
    """Return the offset after the line break of the line that ``offset`` is in."""
    end = source.find(b"\n", offset)
    return len(source) if end < 0 else end + 1


def delete_lines(source: bytes, start: int, end: int) -> TextEdit | None:
    """Return the edit that deletes the lines of a statement, or None where it shares a line with something.

    Of two empty lines that would meet, one goes as well.
    """
    first, last = line_start(source, start), line_end(source, end)
    if source[first:start].strip() or source[end:last].strip():
        return None
    following = line_end(source, last)
    above = source[line_start(source, max(first - 1, 0)) : first]
    if not above.strip() and last < len(source) and not source[last:following].strip():
        last = following
    return TextEdit(first, last, b"")


def indent_at(source: bytes, offset: int) -> str | None:
    """Return the white space before ``offset`` on its line, or None where something else stands there."""
    before = source[line_start(source, offset) : offset]
    return None if before.strip() else before.decode()


def newline_of(source: bytes) -> str:
    """Return the line break the file uses."""
    return "\r\n" if b"\r\n" in source else "\n"


_TOKEN = re.compile(rb"[A-Za-z_]\w*")


def identifiers(source: bytes) -> frozenset[str]:
    """Return every identifier in a text, those in comments and strings included."""
    return frozenset(token.decode() for token in _TOKEN.findall(source))
