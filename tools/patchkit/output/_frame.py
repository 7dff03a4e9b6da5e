"""Code frames: numbered source lines with labels underneath, as compilers draw them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from patchkit.output._terminal import columns, paint, printable, wrap

CUT = "..."
NARROWEST_LABEL = 50


@dataclass(frozen=True)
class Label:
    """A remark on one source line.

    Args:
        line: 1-based line of the source.
        text: what stands under the line.
        column: 1-based column where the underline starts, 0 for where the line's code starts.
        length: characters that are underlined.
        main: whether this is what the frame is about; the main label is drawn with carets, in red.
    """

    line: int
    text: str
    column: int = 0
    length: int = 1
    main: bool = False


def frame(source: Sequence[str], labels: Sequence[Label], *, width: int, color: bool, around: int = 2) -> list[str]:
    """Draw the lines that ``labels`` stand on, and ``around`` lines of context at each main label.

    Lines keep to ``width`` columns: the indentation that neighbouring lines share goes first, then what is
    far from the label.

    Returns:
        The drawn lines; none where no label is inside the source.
    """
    labels = [label for label in labels if 1 <= label.line <= len(source)]
    shown = _shown_lines(source, labels, around)
    if not shown:
        return []
    gutter = len(str(shown[-1]))
    bar = paint("|", "blue", color=color)
    room = width - gutter - 3
    drawn = [f"{' ' * gutter} {bar}"]
    last = shown[0] - 1
    indentation = _indentation_of_run(source, shown, 0)
    for index, number in enumerate(shown):
        if number != last + 1:
            drawn.append(paint("." * max(gutter, 3), "blue", color=color))
            indentation = _indentation_of_run(source, shown, index)
        last = number
        here = [label for label in labels if label.line == number]
        code, placed = _fit(source[number - 1], here, indentation, room)
        drawn.append(f"{paint(str(number).rjust(gutter), 'blue', color=color)} {bar} {code}".rstrip())
        for label in placed:
            drawn += [f"{' ' * gutter} {bar} {line}" for line in _remark(label, room, color=color)]
    return drawn


def locate(line: str, expression: str, column: int = 0) -> tuple[int, int] | None:
    """Return the 1-based column and the length of ``expression`` in ``line``, as a whole word.

    ``column`` is where it is expected: the first occurrence from there on wins, else the first at all.
    """
    if not expression:
        return None
    found = [at for at in _occurrences(line, expression) if _is_whole(line, at, len(expression))]
    behind = [at for at in found if at >= column - 1]
    chosen = behind or found
    return (chosen[0] + 1, len(expression)) if chosen else None


def _occurrences(line: str, expression: str) -> Iterable[int]:
    at = line.find(expression)
    while at >= 0:
        yield at
        at = line.find(expression, at + 1)


def _is_whole(line: str, at: int, length: int) -> bool:
    before, after = line[at - 1 : at], line[at + length : at + length + 1]
    return not (before.isalnum() or before == "_" or after.isalnum() or after == "_")


def _shown_lines(source: Sequence[str], labels: Sequence[Label], around: int) -> list[int]:
    wanted = {label.line for label in labels}
    for label in labels:
        if label.main:
            wanted |= set(range(max(1, label.line - around), min(len(source), label.line + around) + 1))
    # a gap of one line takes the room of the dots that would stand for it
    wanted |= {number + 1 for number in wanted if number + 2 in wanted}
    labelled = {label.line for label in labels}
    # an empty line at the edge of a run of neighbours shows nothing
    edges = {number for number in wanted if not {number - 1, number + 1} <= wanted}
    return sorted(
        number for number in wanted if number in labelled or number not in edges or source[number - 1].strip()
    )


def _indentation_of_run(source: Sequence[str], shown: Sequence[int], first: int) -> int:
    """Return the columns that all lines of the run of neighbours at ``shown[first]`` are indented by."""
    run = [number for place, number in enumerate(shown[first:]) if number == shown[first] + place]
    lines = [printable(source[number - 1]) for number in run if source[number - 1].strip()]
    return min((len(line) - len(line.lstrip()) for line in lines), default=0)


def _fit(original: str, labels: Sequence[Label], indentation: int, room: int) -> tuple[str, list[Label]]:
    """Cut a line to ``room`` columns so that the main label stays in sight; move the labels along."""
    code = printable(original)[indentation:]
    moved = [_on_screen(label, code, original, indentation) for label in labels]
    moved.sort(key=lambda label: not label.main)
    skipped = 0
    if columns(code) > room:
        end = moved[0].column - 1 + moved[0].length if moved else 0
        if end > room - len(CUT):
            skipped = min(end + len(CUT) - room, moved[0].column - 1) + len(CUT)
            code = CUT + code[skipped:]
        if columns(code) > room:
            code = code[: room - len(CUT)] + CUT
    shift = skipped - len(CUT) if skipped else 0
    fitted = []
    for label in moved:
        column = max(1, label.column - shift)
        length = max(1, min(label.length, room - column + 1))
        before, under = code[: column - 1], code[column - 1 : column - 1 + length]
        fitted.append(replace(label, column=columns(before) + 1, length=max(1, columns(under))))
    return code, fitted


def _on_screen(label: Label, code: str, original: str, indentation: int) -> Label:
    """Turn a label's columns from the source line's (tabs, indentation) to those of the printed one."""
    if not label.column:
        return replace(label, column=len(code) - len(code.lstrip()) + 1)
    start = len(printable(original[: label.column - 1]))
    end = len(printable(original[: label.column - 1 + label.length]))
    return replace(label, column=max(1, start - indentation + 1), length=max(1, end - start))


def _remark(label: Label, room: int, *, color: bool) -> list[str]:
    style, stroke = ("red", "^") if label.main else ("cyan", "-")
    strokes = " " * (label.column - 1) + stroke * label.length
    beside = room - columns(strokes) - 1
    text = wrap(label.text, beside) if beside >= min(NARROWEST_LABEL, columns(label.text)) else []
    if text:
        indent = " " * (columns(strokes) + 1)
        lines = [f"{strokes} {text[0]}", *(indent + line for line in text[1:])]
    else:
        # as near to the strokes as a single line, or a readable block, can stand
        needed = columns(label.text) if columns(label.text) <= room else NARROWEST_LABEL
        start = max(0, min(label.column - 1, room - needed))
        lines = [strokes, *(" " * start + line for line in wrap(label.text, room - start))]
    return [_paint_behind_indent(line, style, color=color) for line in lines]


def _paint_behind_indent(line: str, style: str, *, color: bool) -> str:
    code = line.lstrip()
    return " " * (len(line) - len(code)) + paint(code, style, color=color)


def read_lines(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the lines of a source file, or none where it can no longer be read; a frame is a courtesy."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:  # noqa: PTH123
            return tuple(stream.read().split("\n"))
    except OSError:
        return ()
