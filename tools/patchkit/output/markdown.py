"""The ``markdown`` format: a table for the step summary of a workflow, or for a comment."""

from __future__ import annotations

from collections import Counter

from patchkit.output import Look
from patchkit.output._severity import one_line
from patchkit.output._terminal import count_of
from patchkit.scan.findings import Finding, ScanReport
from patchkit.source.tree import Tree

# A step summary may hold 1 MiB; what is cut off is counted.
LARGEST = 900_000
OPS_SHOWN = 6


def render(report: ScanReport, tree: Tree, look: Look) -> str:
    """Return a heading with the counts, a table of the findings, and what was undecided or set aside."""
    lines = [f"## patchkit: {_counted(report)}", "", _subtitle(report), ""]
    if report.findings:
        lines += ["| rule | where | function, tensor | operators | layouts | macOS | sure |"]
        lines += ["|---|---|---|---|---|---|---|"]
        lines += _fitting([_row(finding, look) for finding in report.findings])
        lines.append("")
    if report.undecided:
        lines += ["### Undecided", "", "| where | function | why |", "|---|---|---|"]
        lines += _fitting(
            [
                f"| {_place(one.file, one.line, look)} | {_code(one.function)} | {_text(one.why)} |"
                for one in report.undecided
            ]
        )
        lines.append("")
    if report.notices:
        lines += ["### Notices", ""]
        lines += [f"- {_place(one.file, one.line, look)}: {_text(one.text)}" for one in report.notices]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _counted(report: ScanReport) -> str:
    effects = Counter(finding.effect for finding in report.findings)
    listed = ", ".join(f"{number} {effect}" for effect, number in effects.most_common())
    return count_of(len(report.findings), "finding") + (f" ({listed})" if listed else "")


def _subtitle(report: ScanReport) -> str:
    text = (
        f"torch {report.torch_version}: {count_of(report.sites, 'graph result')} in {count_of(report.files, 'file')}, "
        f"{len(report.cleared)} cleared, {len(report.undecided)} undecided"
    )
    because = Counter(one.because for one in report.set_aside)
    listed = ", ".join(f"{number} by {name}" for name, number in because.most_common())
    return f"{text}; {len(report.set_aside)} set aside ({listed})." if listed else f"{text}."


def _row(finding: Finding, look: Look) -> str:
    more = len(finding.ops) - OPS_SHOWN
    ops = ", ".join(_code(op) for op in finding.ops[:OPS_SHOWN]) + (f" and {more} more" if more > 0 else "")
    cells = (
        f"{finding.rule} {finding.effect}",
        _place(finding.file, finding.line, look),
        f"{_code(finding.function)} {_code(finding.tensor)}",
        ops or "none",
        ", ".join(finding.layouts),
        _text({"<15": "before 15", ">=15": "15 and later"}.get(finding.macos, finding.macos)),
        finding.confidence,
    )
    return f"| {' | '.join(cells)} |"


def _fitting(rows: list[str]) -> list[str]:
    size = 0
    for place, row in enumerate(rows):
        size += len(row.encode()) + 1
        if size > LARGEST:
            return [*rows[:place], f"| and {len(rows) - place} more |"]
    return rows


def _place(file: str, line: int, look: Look) -> str:
    return _code(f"{look.path(file)}:{line}" if line else look.path(file))


def _code(text: str) -> str:
    """Return source text as inline code of a table cell; a pipe would end the cell, a backtick the code."""
    plain = one_line(text).replace("|", "\\|")
    if not plain:
        return ""
    return f"`` {plain} ``" if "`" in plain else f"`{plain}`"


def _text(text: str) -> str:
    return one_line(text).replace("|", "\\|").replace("<", "&lt;")
