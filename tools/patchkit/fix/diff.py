"""The diff of one file: made with difflib, in git's format, and proved before it is handed out.

difflib ships with Python, needs neither git nor a temporary file, and gives the same bytes on every machine
whatever the user's git version and settings. It is exact but slow where many lines repeat, so what two files
share at both ends is cut off first; a kernel file of 2,200 lines then takes a few hundredths of a second.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from patchkit.errors import InputError, PatchError
from patchkit.fix.hunks import (
    CONTEXT_LINES,
    Hunk,
    MisfitError,
    apply_exact,
    format_hunk,
    headings,
    parse_hunk,
    split_lines,
)
from patchkit.fix.paths import check_path

# (old start, old end, new start, new end), 0-based, end exclusive: a run of lines that changes.
_Change = tuple[int, int, int, int]


@dataclass(frozen=True)
class FileChange:
    """New bytes for one existing file.

    Args:
        path: relative to the tree's root, with forward slashes.
        before: bytes of the file now.
        after: bytes of the file then.
        executable: whether the file carries an executable bit; only the diff's index line shows it.

    Raises:
        InputError: the path cannot be in a patch, or the file is binary (it holds NUL bytes).
    """

    path: str
    before: bytes
    after: bytes
    executable: bool = False

    def __post_init__(self) -> None:
        check_path(self.path, where="An edit")
        if b"\0" in self.before or b"\0" in self.after:
            raise InputError(f"{self.path} is a binary file (it holds NUL bytes): patches are made of text.")


@dataclass(frozen=True)
class FileDiff:
    """The part of a patch that changes one file.

    Args:
        path: relative to the tree's root.
        hunks: in file order.
        old_blob, new_blob: git's hashes of the file before and after, in hexadecimal.
    """

    path: str
    hunks: tuple[Hunk, ...]
    old_blob: str
    new_blob: str

    def reversed(self) -> FileDiff:
        """Return the diff that undoes this one."""
        return FileDiff(self.path, tuple(hunk.reversed() for hunk in self.hunks), self.new_blob, self.old_blob)


def blob_hash(content: bytes, algorithm: str = "sha1") -> str:
    """Return the hash by which git stores ``content``; ``algorithm`` is ``sha1`` or ``sha256``."""
    return hashlib.new(algorithm, b"blob %d\0" % len(content) + content).hexdigest()


def diff_hunks(before: bytes, after: bytes) -> tuple[Hunk, ...]:
    """Return the hunks that turn ``before`` into ``after``, with three lines of context."""
    old, new = split_lines(before), split_lines(after)
    return tuple(_hunk(old, new, group) for group in _groups(_changes(old, new)))


def format_diff(change: FileChange) -> bytes:
    """Return the diff of ``change`` with git's header lines, checked by applying it both ways.

    Raises:
        PatchError: the text of the diff, read back, does not turn one version into the other.
    """
    hunks = diff_hunks(change.before, change.after)
    text = b"".join(format_hunk(hunk) for hunk in hunks)
    if not _proves(text, change):
        raise PatchError(f"The diff of {change.path} does not reproduce its edit; no patch was written.")
    # git ends a name that holds a space with a tab, so that `patch` does not read a date after it.
    path = change.path.encode("ascii")
    end = b"\t\n" if b" " in path else b"\n"
    mode = b"100755" if change.executable else b"100644"
    index = f"{blob_hash(change.before)}..{blob_hash(change.after)}".encode("ascii")
    header = b"diff --git a/%s b/%s\nindex %s %s\n" % (path, path, index, mode)
    return header + b"--- a/" + path + end + b"+++ b/" + path + end + text


def _proves(text: bytes, change: FileChange) -> bool:
    lines = split_lines(text)
    hunks: list[Hunk] = []
    at = 0
    try:
        while at < len(lines):
            hunk, at = parse_hunk(lines, at)
            hunks.append(hunk)
        there = apply_exact(change.before, hunks)
        back = apply_exact(change.after, [hunk.reversed() for hunk in hunks])
    except (ValueError, MisfitError):
        return False
    return there == change.after and back == change.before


def _changes(old: Sequence[bytes], new: Sequence[bytes]) -> list[_Change]:
    from difflib import SequenceMatcher

    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    matcher = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    return [
        (head + i1, head + i2, head + j1, head + j2) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"
    ]


def _groups(changes: Sequence[_Change]) -> list[list[_Change]]:
    """Put changes whose context lines touch or overlap into one hunk."""
    groups: list[list[_Change]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * CONTEXT_LINES:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(old: Sequence[bytes], new: Sequence[bytes], group: Sequence[_Change]) -> Hunk:
    start = max(group[0][0] - CONTEXT_LINES, 0)
    new_start = group[0][2] - (group[0][0] - start)
    end = min(group[-1][1] + CONTEXT_LINES, len(old))
    lines: list[tuple[bytes, bytes]] = []
    at = start
    for i1, i2, j1, j2 in group:
        lines += [(b" ", line) for line in old[at:i1]]
        lines += [(b"-", line) for line in old[i1:i2]]
        lines += [(b"+", line) for line in new[j1:j2]]
        at = i2
    lines += [(b" ", line) for line in old[at:end]]
    old_count = sum(tag != b"+" for tag, _ in lines)
    new_count = sum(tag != b"-" for tag, _ in lines)
    return Hunk(
        start + 1 if old_count else start,
        new_start + 1 if new_count else new_start,
        tuple(lines),
        headings(old[:start])[-1],
    )
