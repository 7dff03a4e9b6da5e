"""Patches as mails that ``git am`` takes, and reading them back.

The form is that of ``git format-patch --zero-commit``: headers, commit message, diffstat, diffs, signature.
Lines of the diffs are raw bytes, so that ``git apply`` and ``patch -p1`` read the same file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from patchkit.errors import InputError
from patchkit.fix.diff import FileChange, FileDiff, diff_hunks, format_diff
from patchkit.fix.hunks import Hunk, parse_hunk, split_lines
from patchkit.fix.paths import check_distinct, check_path

SENDER = "patchkit <patchkit@localhost>"
# The fixed date that git format-patch itself puts on every "From" line.
_FROM_LINE = "From " + "0" * 40 + " Mon Sep 17 00:00:00 2001"
_DATE = "Mon, 17 Sep 2001 00:00:00 +0000"
_GRAPH_COLUMNS = 40

# Lines at which git mailinfo would end the message, start a mail, or read a header.
_SPECIAL_LINE = re.compile(r"(---|diff -|Index: |>?From |From:|Date:|Subject:|@@ )", re.IGNORECASE)
_INDEX_LINE = re.compile(rb"index ([0-9a-f]{40})\.\.([0-9a-f]{40})(?: (100644|100755))?\n\Z")


def format_mail(
    *, subject: str, body: str, changes: Sequence[FileChange], number: int, total: int, tool_version: str
) -> bytes:
    """Return one patch as a mail.

    Args:
        subject: first line of the commit message; ``git am`` drops leading ``[...]`` parts of it.
        body: the rest of the commit message.
        changes: the files, each with its bytes before and after this patch.
        number, total: place of the patch in its series, from 1.
        tool_version: stands in the signature.

    Raises:
        PatchError: a diff does not reproduce its edit.
    """
    diffs = [format_diff(change) for change in changes]
    text = "\n".join(
        [
            _FROM_LINE,
            f"From: {SENDER}",
            f"Date: {_DATE}",
            f"Subject: {_subject_header(subject, number, total)}",
            "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=UTF-8",
            "Content-Transfer-Encoding: 8bit",
            "",
            _message(body),
            "---",
            *_notes(changes),
            *_diffstat(changes),
            "",
            "",
        ]
    )
    return text.encode("utf-8") + b"".join(diffs) + f"-- \npatchkit {tool_version}\n\n".encode()


def _subject_header(subject: str, number: int, total: int) -> str:
    width = len(str(total))
    text = f"[PATCH {number:0{width}d}/{total}] " + " ".join(subject.split())
    if text.isascii():
        return text
    from email.header import Header

    return Header(text, "utf-8", header_name="Subject").encode(linesep="\n")


def _message(body: str) -> str:
    lines = [line.rstrip() for line in body.strip("\n").split("\n")]
    return "\n".join(" " + line if _SPECIAL_LINE.match(line) else line for line in lines)


def _notes(changes: Sequence[FileChange]) -> list[str]:
    if any(b"\r\n" in change.before + change.after for change in changes):
        return ["Lines end in CRLF: give this mail to 'git am --keep-cr'.", ""]
    return []


def _diffstat(changes: Sequence[FileChange]) -> list[str]:
    counts = [_count(change) for change in changes]
    name_width = max(len(change.path) for change in changes)
    number_width = len(str(max(sum(count) for count in counts)))
    scale = min(1.0, _GRAPH_COLUMNS / max(sum(count) for count in counts))
    rows = []
    for change, (added, removed) in zip(changes, counts, strict=True):
        plus = max(round(added * scale), 1) if added else 0
        minus = max(round(removed * scale), 1) if removed else 0
        graph = "+" * plus + "-" * minus
        rows.append(f" {change.path:<{name_width}} | {added + removed:>{number_width}} {graph}")
    rows.append(_totals(len(changes), sum(a for a, _ in counts), sum(r for _, r in counts)))
    return rows


def _count(change: FileChange) -> tuple[int, int]:
    tags = [tag for hunk in diff_hunks(change.before, change.after) for tag, _ in hunk.lines]
    return tags.count(b"+"), tags.count(b"-")


def _totals(files: int, added: int, removed: int) -> str:
    parts = [f" {files} file{'s' * (files != 1)} changed"]
    if added:
        parts.append(f"{added} insertion{'s' * (added != 1)}(+)")
    if removed:
        parts.append(f"{removed} deletion{'s' * (removed != 1)}(-)")
    return ", ".join(parts)


def parse_mail(data: bytes, *, name: str) -> tuple[FileDiff, ...]:
    """Return the diffs of a patch, refusing everything a patchkit series does not need.

    Only changes to existing text files are read: a patch that creates, deletes, renames, changes a mode or
    holds binary data is refused, and so is one that names a path outside its tree.

    Raises:
        InputError: the patch is malformed or asks for what is refused.
    """
    lines = split_lines(data)
    at = next((n for n, line in enumerate(lines) if line.startswith(b"diff --git ")), len(lines))
    if at == len(lines):
        raise InputError(f"{name} holds no diff; write the series again with 'patchkit fix'.")
    if any(line.startswith((b"--- ", b"+++ ", b"@@ ")) for line in lines[:at]):
        raise InputError(f"{name} holds a diff without a 'diff --git' line, which patchkit does not write.")
    diffs: list[FileDiff] = []
    while at < len(lines) and not _is_signature(lines[at]):
        diff, at = _parse_file(lines, at, name)
        diffs.append(diff)
    if any(line.startswith((b"--- ", b"+++ ", b"@@ ", b"diff ")) for line in lines[at:]):
        raise InputError(f"{name} holds a diff after its signature, which patchkit does not write.")
    paths = tuple(diff.path for diff in diffs)
    if len(set(paths)) != len(paths):
        raise InputError(f"{name} changes one file twice, which patchkit does not write.")
    check_distinct(paths, where=name)
    return tuple(diffs)


def _is_signature(line: bytes) -> bool:
    return line.rstrip(b"\n") == b"-- "


def _parse_file(lines: Sequence[bytes], at: int, name: str) -> tuple[FileDiff, int]:
    if not lines[at].startswith(b"diff --git "):
        raise InputError(f"{name} is malformed at line {at + 1}: {_shown(lines[at])}.")
    if at + 4 >= len(lines):
        raise InputError(f"{name} ends inside a diff; it was cut short.")
    index = _INDEX_LINE.match(lines[at + 1])
    if index is None:
        raise InputError(
            f"{name} asks for more than new text in an existing file "
            f"(line {at + 2}: {_shown(lines[at + 1])}); patchkit changes existing text files only."
        )
    old = _header_path(lines[at + 2], b"--- a/", name, at + 2)
    new = _header_path(lines[at + 3], b"+++ b/", name, at + 3)
    if old != new:
        raise InputError(f"{name} moves {old} to {new}; patchkit changes existing files in place only.")
    check_path(old, where=name)
    if lines[at].rstrip(b"\n") != f"diff --git a/{old} b/{old}".encode():
        raise InputError(f"{name} names different files in the two headers of one diff ({old}).")
    at += 4
    hunks: list[Hunk] = []
    while at < len(lines) and lines[at].startswith(b"@@ "):
        try:
            hunk, at = parse_hunk(lines, at)
        except ValueError as error:
            raise InputError(f"{name} is malformed: {error} ({old}).") from error
        hunks.append(hunk)
    if not hunks:
        raise InputError(f"{name} changes nothing in {old}.")
    return FileDiff(old, tuple(hunks), index.group(1).decode(), index.group(2).decode()), at


def _header_path(line: bytes, prefix: bytes, name: str, at: int) -> str:
    if not line.startswith(prefix):
        raise InputError(
            f"{name} creates or deletes a file, or names one outside its tree "
            f"(line {at + 1}: {_shown(line)}); patchkit changes existing files only."
        )
    return line.removeprefix(prefix).rstrip(b"\n").removesuffix(b"\t").decode("utf-8", "surrogateescape")


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace").rstrip()
    return repr(text if len(text) <= 60 else text[:57] + "...")
