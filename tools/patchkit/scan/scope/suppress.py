"""Suppressions in the source: ``// NOLINTNEXTLINE(patchkit-MPS101): why``, with a reason, as clang-tidy writes them.

``NOLINTNEXTLINE`` covers the statement that begins in the next line, ``NOLINT`` the one it stands behind. Other
tools' names may stand in the same parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from patchkit.scan.findings import Finding, Notice, ScanReport, SetAside
from patchkit.scan.sources import kernel_files
from patchkit.source.tree import Tree

PREFIX = "patchkit-"
_COMMENT = re.compile(r"//\s*(NOLINT(?:NEXTLINE)?)\(([^()\n]*\bpatchkit-[^()\n]*)\)([^\n]*)")
_STATEMENT_LINES = 20


@dataclass(frozen=True)
class Suppression:
    """One rule that a comment suppresses.

    Args:
        file, line: where the comment stands; the line is 1-based.
        rule: as written, without ``patchkit-``.
        reason: what stands behind the colon; empty where there is none.
        first, last: the lines it covers.
    """

    file: str
    line: int
    rule: str
    reason: str
    first: int
    last: int

    def covers(self, finding: Finding) -> bool:
        """Say whether ``finding`` is of the rule and lies in the lines."""
        here = self.file == finding.file and self.rule.upper() == finding.rule.upper()
        return here and self.first <= max(finding.line, finding.end_line) and finding.line <= self.last


def read_suppressions(tree: Tree) -> tuple[Suppression, ...]:
    """Return the suppressions in the kernel files of a tree, in order; a file that cannot be read has none."""
    found: list[Suppression] = []
    for path in kernel_files(tree.root):
        try:
            data = path.read_bytes()
        except OSError:
            continue
        if PREFIX.encode() in data:
            found += suppressions_in(path.relative_to(tree.root).as_posix(), data.decode("utf-8", "replace"))
    return tuple(found)


def suppressions_in(file: str, text: str) -> Iterator[Suppression]:
    """Yield the suppressions of one file."""
    lines = text.split("\n")
    for number, code in enumerate(lines, 1):
        match = _COMMENT.search(code)
        if match is None:
            continue
        kind, names, rest = match.groups()
        reason = rest.strip().removeprefix(":").strip() if rest.strip().startswith(":") else ""
        first = number + 1 if kind == "NOLINTNEXTLINE" else number
        last = _end_of_statement(lines, first) if kind == "NOLINTNEXTLINE" else number
        for name in names.split(","):
            if name.strip().startswith(PREFIX):
                yield Suppression(file, number, name.strip().removeprefix(PREFIX), reason, first, last)


def _end_of_statement(lines: Sequence[str], first: int) -> int:
    for number in range(first, min(first + _STATEMENT_LINES, len(lines) + 1)):
        code = lines[number - 1].partition("//")[0].rstrip()
        if code.endswith((";", "{", "}")):
            return number
    return first


def suppress(report: ScanReport, suppressions: Sequence[Suppression]) -> ScanReport:
    """Set aside what is suppressed with a reason; notices name suppressions that have none or are not used."""
    kept: list[Finding] = []
    moved: list[SetAside] = []
    used: set[Suppression] = set()
    for finding in report.findings:
        hits = [one for one in suppressions if one.covers(finding)]
        used.update(hits)
        reason = next((one.reason for one in hits if one.reason), "")
        if reason:
            moved.append(SetAside(finding, "suppression", reason))
        else:
            kept.append(finding)
    return replace(
        report,
        findings=tuple(kept),
        set_aside=(*report.set_aside, *moved),
        notices=(*report.notices, *_notices(suppressions, used)),
    )


def _notices(suppressions: Sequence[Suppression], used: set[Suppression]) -> Iterator[Notice]:
    for one in suppressions:
        name = f"{PREFIX}{one.rule}"
        if one not in used:
            yield Notice(one.file, one.line, f"the suppression of {name} is not used: there is no such finding here.")
        elif not one.reason:
            text = f"the suppression of {name} gives no reason and has no effect; write ({name}): why."
            yield Notice(one.file, one.line, text)
