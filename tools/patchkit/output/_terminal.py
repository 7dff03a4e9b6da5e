"""Plain terminal text: colour codes, wrapping, and the width and colour that a stream can take."""

from __future__ import annotations

import os
import shutil
import textwrap
import unicodedata
from collections.abc import Mapping
from typing import TextIO

PIPED_WIDTH = 100
NARROWEST, WIDEST = 40, 140
TAB = 4

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "1;31",
    "green": "32",
    "yellow": "1;33",
    "blue": "1;34",
    "magenta": "1;35",
    "cyan": "36",
}


def paint(text: str, style: str, *, color: bool) -> str:
    """Return ``text`` in a named style, or as it is where colour is off or the text is empty."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if color and text else text


def wants_color(choice: str, stream: TextIO, environment: Mapping[str, str] | None = None) -> bool:
    """Decide whether ``stream`` gets colour; ``auto`` is a terminal, unless NO_COLOR is set."""
    environment = os.environ if environment is None else environment
    if choice != "auto":
        return choice == "always"
    return stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def width_of(stream: TextIO) -> int:
    """Return the columns to keep to: COLUMNS or the terminal's width, 100 where output is piped."""
    if stream.isatty() or os.environ.get("COLUMNS"):
        columns = shutil.get_terminal_size((PIPED_WIDTH, 24)).columns
    else:
        columns = PIPED_WIDTH
    return max(NARROWEST, min(columns, WIDEST))


def wrap(text: str, width: int, *, first: str = "", rest: str | None = None) -> list[str]:
    """Wrap ``text`` to ``width`` columns; the first line starts with ``first``, the others with ``rest``."""
    return textwrap.wrap(
        printable(text),
        max(width, len(first) + 20),
        initial_indent=first,
        subsequent_indent=" " * len(first) if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def paragraphs(text: str, width: int, *, indent: str = "") -> list[str]:
    """Wrap each paragraph of ``text``; an empty line separates paragraphs, here and in what is returned."""
    lines: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        lines += ["", *wrap(" ".join(paragraph.split()), width, first=indent)]
    return lines[1:]


def printable(text: str) -> str:
    """Return one line without tabs, and with control characters (a source file may hold any) shown as '?'."""
    shown = text.expandtabs(TAB)
    if shown.isprintable():
        return shown
    return "".join(char if char.isprintable() else "?" for char in shown)


def columns(text: str) -> int:
    """Return how many terminal columns ``text`` takes; a wide East Asian character takes two."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(bool(unicodedata.combining(char)) for char in text)


def count_of(number: int, noun: str, plural: str = "") -> str:
    """Return ``1 finding`` or ``2 findings``."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
