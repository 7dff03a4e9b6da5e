"""Hunks of a unified diff: written, read, and applied to bytes.

patchkit applies its own patches so that a tree without git, and a machine without ``patch``, work the same.
Lines end at ``\\n`` only; a carriage return is part of its line, and bytes are never decoded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

CONTEXT_LINES = 3
_HEADING_BYTES = 80
_SHOWN_COLUMNS = 60
_HEADER = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(?: (.*))?\Z", re.DOTALL)
_NO_NEWLINE = b"\\ No newline at end of file\n"
_FUNCTION_LINE = re.compile(rb"[A-Za-z_$]")


@dataclass(frozen=True)
class Hunk:
    """One run of changed lines with its context.

    Args:
        old_start: 1-based line where the old side begins; 0 where the old side is empty.
        new_start: the same for the new side.
        lines: pairs of a tag (``b" "``, ``b"-"`` or ``b"+"``) and a line with its terminator.
        heading: the last line before the hunk that starts a declaration, as ``git diff`` prints it.
    """

    old_start: int
    new_start: int
    lines: tuple[tuple[bytes, bytes], ...]
    heading: bytes = b""

    @property
    def old(self) -> list[bytes]:
        """Lines the hunk expects."""
        return [line for tag, line in self.lines if tag != b"+"]

    @property
    def new(self) -> list[bytes]:
        """Lines the hunk leaves."""
        return [line for tag, line in self.lines if tag != b"-"]

    @property
    def index(self) -> int:
        """0-based position of the old side in its file."""
        return max(self.old_start - 1, 0)

    @property
    def reaches_end(self) -> bool:
        """Whether the hunk has no context after its last change, so that the file must end there."""
        return self.lines[-1][0] != b" "

    def reversed(self) -> Hunk:
        """Return the hunk that undoes this one."""
        swap = {b" ": b" ", b"-": b"+", b"+": b"-"}
        return Hunk(self.new_start, self.old_start, tuple((swap[tag], line) for tag, line in self.lines), self.heading)


class MisfitError(Exception):
    """A hunk has no place in a file, or more than one.

    Args:
        number: 1-based number of the hunk in its file.
        reason: what it expects and what is there, to be read after "hunk 1 of this patch".
        ambiguous: whether it fits, but in several places.
    """

    def __init__(self, number: int, reason: str, *, ambiguous: bool = False) -> None:
        super().__init__(f"hunk {number} {reason}")
        self.number = number
        self.reason = reason
        self.ambiguous = ambiguous


def split_lines(content: bytes) -> list[bytes]:
    """Split at ``\\n`` only, terminators kept; a last line without one stays without."""
    parts = content.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def headings(lines: Sequence[bytes]) -> list[bytes]:
    """Return for each line, and for the end, the last line before it that starts a declaration.

    Found and cut as ``git diff`` does for its hunk headers; empty where there is none.
    """
    result = [b""]
    for line in lines:
        result.append(line[:_HEADING_BYTES].rstrip() if _FUNCTION_LINE.match(line) else result[-1])
    return result


def format_hunk(hunk: Hunk) -> bytes:
    """Return the text of ``hunk``, header line included."""
    header = b"@@ -%s +%s @@" % (
        _range(hunk.old_start, len(hunk.old)),
        _range(hunk.new_start, len(hunk.new)),
    )
    out = [header + (b" " + hunk.heading if hunk.heading else b"") + b"\n"]
    for tag, line in hunk.lines:
        out.append(tag + line if line.endswith(b"\n") else tag + line + b"\n" + _NO_NEWLINE)
    return b"".join(out)


def _range(start: int, count: int) -> bytes:
    return b"%d" % start if count == 1 else b"%d,%d" % (start, count)


def parse_hunk(lines: Sequence[bytes], at: int) -> tuple[Hunk, int]:
    """Read the hunk whose header is ``lines[at]``; return it and the index of the line after it.

    Raises:
        ValueError: the header is malformed, or the lines do not add up to what it announces.
    """
    match = _HEADER.match(lines[at].rstrip(b"\n"))
    if match is None:
        raise ValueError("a hunk header is malformed")
    old_start, old_count, new_start, new_count = (int(g) if g is not None else 1 for g in match.groups()[:4])
    body: list[tuple[bytes, bytes]] = []
    at += 1
    while old_count or new_count:
        if at >= len(lines):
            raise ValueError("the file ends inside a hunk")
        tag, line = lines[at][:1], lines[at][1:]
        if tag not in (b" ", b"-", b"+"):
            raise ValueError("a hunk is shorter than its header says")
        old_count -= tag != b"+"
        new_count -= tag != b"-"
        if old_count < 0 or new_count < 0:
            raise ValueError("a hunk is longer than its header says")
        at += 1
        if at < len(lines) and lines[at].startswith(b"\\"):
            line = line.removesuffix(b"\n")
            at += 1
        body.append((tag, line))
    if all(tag == b" " for tag, _ in body):
        raise ValueError("a hunk changes nothing")
    hunk = Hunk(old_start, new_start, tuple(body), match.group(5) or b"")
    if any(not line.endswith(b"\n") for side in (hunk.old, hunk.new) for line in side[:-1]):
        raise ValueError("a line without an end is not the last of its file")
    return hunk, at


def apply_exact(content: bytes, hunks: Sequence[Hunk]) -> bytes:
    """Apply ``hunks`` at the lines they were recorded at.

    Raises:
        MisfitError: a line differs.
    """
    lines = split_lines(content)
    positions = [hunk.index for hunk in hunks]
    for number, (hunk, position) in enumerate(zip(hunks, positions, strict=True), 1):
        if not _fits(lines, hunk.old, position, hunk.reaches_end):
            raise _best_misfit(lines, hunk, number)
    return _replace(lines, hunks, positions)


def apply_moved(content: bytes, hunks: Sequence[Hunk]) -> tuple[bytes, tuple[int, ...]]:
    """Apply ``hunks`` to a file they were not made from, where their lines may have moved.

    Every context line must be there exactly, in order, under the declaration line that the hunk header names,
    and there must be only one way to place all hunks. ``git apply`` takes the nearest place instead, whatever
    it is under; in MPS kernels, where the same few lines surround every ``runMPSGraph``, the nearest place is
    often another kernel.

    Returns:
        The new content, and for each hunk by how many lines it had moved.

    Raises:
        MisfitError: no place, or more than one.
    """
    lines = split_lines(content)
    above = headings(lines)
    candidates = []
    for number, hunk in enumerate(hunks, 1):
        places = [place for place in _places(lines, hunk) if above[place] == hunk.heading]
        if not places:
            raise _best_misfit(lines, hunk, number, above)
        candidates.append(places)
    positions = _only_way(hunks, candidates)
    if positions is None:
        several = [number for number, places in enumerate(candidates, 1) if len(places) > 1]
        number = several[0] if several else 1
        raise MisfitError(number, f"fits in {len(candidates[number - 1])} places", ambiguous=True)
    moved = tuple(position - hunk.index for hunk, position in zip(hunks, positions, strict=True))
    return _replace(lines, hunks, positions), moved


def _fits(lines: Sequence[bytes], old: list[bytes], position: int, at_end: bool) -> bool:
    return lines[position : position + len(old)] == old and (not at_end or position + len(old) == len(lines))


def _places(lines: Sequence[bytes], hunk: Hunk) -> list[int]:
    old, at_end = hunk.old, hunk.reaches_end
    # As in git's apply.c: a hunk recorded at the first line must still be there.
    last = 0 if hunk.old_start <= 1 else len(lines) - len(old)
    return [position for position in range(last + 1) if _fits(lines, old, position, at_end)]


def _only_way(hunks: Sequence[Hunk], candidates: Sequence[Sequence[int]]) -> list[int] | None:
    """Return the one way to place all hunks in order without overlap, or None if there is none or several."""
    lengths = [len(hunk.old) for hunk in hunks]
    earliest: list[int] = []
    free = 0
    for places, length in zip(candidates, lengths, strict=True):
        fitting = [p for p in places if p >= free]
        if not fitting:
            return None
        earliest.append(fitting[0])
        free = fitting[0] + length
    limit: int | None = None
    for number in range(len(hunks) - 1, -1, -1):
        ending = [p for p in candidates[number] if limit is None or p + lengths[number] <= limit]
        if not ending or ending[-1] != earliest[number]:
            return None
        limit = ending[-1]
    return earliest


def _replace(lines: list[bytes], hunks: Sequence[Hunk], positions: Sequence[int]) -> bytes:
    out: list[bytes] = []
    done = 0
    for number, (hunk, position) in enumerate(zip(hunks, positions, strict=True), 1):
        if position < done:
            raise MisfitError(number, "overlaps the hunk before it")
        out += lines[done:position]
        out += hunk.new
        done = position + len(hunk.old)
    return b"".join(out + lines[done:])


def _best_misfit(lines: Sequence[bytes], hunk: Hunk, number: int, above: Sequence[bytes] | None = None) -> MisfitError:
    """Say which line differs first where most lines of ``hunk`` agree, of such places the nearest to its own.

    Looks only under the declaration line of the hunk; where that is gone, says so.
    """
    old = hunk.old
    positions = [place for place in range(len(lines) + 1) if above is None or above[place] == hunk.heading]
    if not positions:
        return MisfitError(number, f"belongs under {_shown(hunk.heading)}, which is not there")

    def agreement(position: int) -> tuple[int, int]:
        same = sum(a == b for a, b in zip(old, lines[position : position + len(old)], strict=False))
        return same, -abs(position - hunk.index)

    best = max(positions, key=agreement)
    for offset, expected in enumerate(old):
        found = lines[best + offset] if best + offset < len(lines) else None
        if found != expected:
            return MisfitError(number, _difference(best + offset + 1, expected, found))
    if hunk.reaches_end and best + len(old) < len(lines):
        return MisfitError(number, f"expects the file to end before line {best + len(old) + 1}")
    return MisfitError(number, f"belongs at line {hunk.old_start}, its lines are at line {best + 1}")


def _difference(line: int, expected: bytes, found: bytes | None) -> str:
    wish = f"expects line {line} to read {_shown(expected)}"
    if found is None:
        return f"{wish}, but the file ends before it"
    if expected.split() == found.split():
        return f"{wish}, which differs there in white space or line ends"
    return f"{wish}, but it reads {_shown(found)}"


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return repr(text if len(text) <= _SHOWN_COLUMNS else text[: _SHOWN_COLUMNS - 3] + "...")
