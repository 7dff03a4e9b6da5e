"""The ``html`` format: one self-contained page, a table of operators and releases whose cells open the kernel's trace.

Nothing is loaded from anywhere, and without scripts only the filter is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from patchkit import __version__
from patchkit.output import Look
from patchkit.output._frame import read_lines
from patchkit.output._severity import one_line
from patchkit.output._terminal import count_of
from patchkit.scan.cache import Scanned
from patchkit.scan.findings import Finding, ScanReport
from patchkit.scan.matrix import ABSENT, FIXED, GONE, SAFE, UNDECIDED, Cell, Matrix, make_matrix
from patchkit.source.tree import Tree

if TYPE_CHECKING:
    from markupsafe import Markup

WORDS = {ABSENT: "\u2013", GONE: "gone", SAFE: "ok", FIXED: "fixed", UNDECIDED: "?"}
STYLES = {SAFE: "good", FIXED: "good", UNDECIDED: "odd", GONE: "none", ABSENT: "none"}
LEGEND = {
    SAFE: "no finding in any release so far",
    FIXED: "an earlier release had a finding",
    UNDECIDED: "the scan cannot follow the kernel",
    GONE: "no longer a kernel for MPS tensors",
    ABSENT: "not yet a kernel for MPS tensors",
}
MACOS = {"<15": "before 15", ">=15": "15 and later", "all": "every version"}
AROUND = 3

Json = dict[str, Any]
Lines = Callable[[int, str], Sequence[str]]


def render(report: ScanReport, tree: Tree, look: Look) -> str:
    """Return the page for one tree."""
    ops = tuple(sorted({op for finding in report.findings for op in finding.ops}))
    return _page(make_matrix([Scanned(report, ops, ())]), [report], [tree])


def render_matrix(matrix: Matrix, reports: Sequence[ScanReport], trees: Sequence[Tree]) -> str:
    """Return the page for several trees.

    Args:
        matrix: what is shown.
        reports, trees: in the order of its releases; code is read from the trees.
    """
    return _page(matrix, reports, trees)


def _page(matrix: Matrix, reports: Sequence[ScanReport], trees: Sequence[Tree]) -> str:
    import jinja2

    from patchkit.resources import templates_dir

    loader = jinja2.FileSystemLoader(templates_dir() / "report")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)

    @cache
    def lines(release: int, file: str) -> Sequence[str]:
        return read_lines(trees[release].root / file)

    environment.filters["ticked"] = _ticked
    panels: dict[str, Json] = {}
    rows = [
        {
            "op": row.op,
            "first_safe": row.safe_from,
            "open": row.cells[-1].bad,
            "cells": [_cell(cell, place, row.op, matrix, panels, lines) for place, cell in enumerate(row.cells)],
        }
        for row in matrix.rows
    ]
    unreached = _unreached(reports, matrix, panels, lines)
    versions = [release.version for release in matrix.releases]
    used = {cell.state for row in matrix.rows for cell in row.cells}
    page = environment.get_template("page.html.j2").render(
        title=f"MPS kernels that lose their output: torch {_listed(versions)}",
        summary=_summary(matrix),
        tool=__version__,
        releases=matrix.releases,
        rows=rows,
        legend=[(WORDS[state], STYLES[state], text) for state, text in LEGEND.items() if state in used],
        panels=list(panels.values()),
        unreached=unreached,
        undecided=[
            {"place": f"{version} {one.file}:{one.line} {one.function}".rstrip(), "why": one.why}
            for version, report in zip(versions, reports, strict=True)
            for one in report.undecided
        ],
    )
    return page.rstrip("\n") + "\n"


def _listed(versions: Sequence[str]) -> str:
    return ", ".join(versions) if len(versions) <= 3 else f"{versions[0]} to {versions[-1]}"


def _summary(matrix: Matrix) -> str:
    newest = matrix.releases[-1]
    counted = f"{count_of(newest.findings, 'finding')} among {count_of(newest.sites, 'result')}"
    if len(matrix.releases) == 1:
        return f"{counted}; {count_of(len(matrix.rows), 'operator')} reach them."
    still = sum(row.cells[-1].bad for row in matrix.rows)
    return (
        f"{count_of(len(matrix.rows), 'operator')} with findings in {len(matrix.releases)} releases; "
        f"{still} of them in {newest.version} ({counted})."
    )


def _cell(cell: Cell, place: int, op: str, matrix: Matrix, panels: dict[str, Json], lines: Lines) -> Json:
    version = matrix.releases[place].version
    if not cell.bad:
        return {"word": WORDS[cell.state], "style": STYLES[cell.state], "panel": "", "version": version}
    panel = _panel(cell.findings, place, version, op, panels, lines)
    return {"word": cell.state, "style": "bad", "panel": panel, "version": version}


def _panel(
    findings: Sequence[Finding], place: int, version: str, op: str, panels: dict[str, Json], lines: Lines
) -> str:
    """Return the id of the panel that shows ``findings``; operators that share their kernels share it."""
    name = f"r{place}-" + "-".join(sorted(finding.fingerprint[:10] for finding in findings))
    if name not in panels:
        shown = [_finding(finding, place, lines) for finding in findings]
        panels[name] = {"id": name, "version": version, "ops": [], "findings": shown}
    if op and op not in panels[name]["ops"]:
        panels[name]["ops"].append(op)
    return name


def _unreached(reports: Sequence[ScanReport], matrix: Matrix, panels: dict[str, Json], lines: Lines) -> list[Json]:
    """Findings that no operator reaches have no row; they are listed below the table."""
    out = []
    for place, report in enumerate(reports):
        version = matrix.releases[place].version
        for finding in report.findings:
            if not finding.ops:
                panel = _panel((finding,), place, version, finding.function, panels, lines)
                out.append({"panel": panel, "name": finding.function, "version": version})
    return out


def _finding(finding: Finding, place: int, lines: Lines) -> Json:
    return {
        "rule": finding.rule,
        "effect": finding.effect,
        "function": finding.function,
        "tensor": one_line(finding.tensor),
        "message": finding.message[:1].upper() + finding.message[1:].rstrip(".") + ".",
        "place": f"{finding.file}:{finding.line}",
        "layouts": ", ".join(finding.layouts),
        "macos": MACOS.get(finding.macos, finding.macos),
        "ops": ", ".join(finding.ops) or "none",
        "triggers": ", ".join(finding.triggers),
        "confidence": finding.confidence,
        "fingerprint": finding.fingerprint,
        "code": _code(finding, lines(place, finding.file)),
        "trace": [_step(step.file or finding.file, step.line, step.text, place, lines) for step in finding.trace],
    }


def _ticked(text: str) -> Markup:
    """Show what stands between backticks as code."""
    from markupsafe import Markup

    parts = text.split("`")
    if len(parts) % 2 == 0:
        return Markup("{}").format(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else Markup("{}").format(part)
        for place, part in enumerate(parts)
    )


def _code(finding: Finding, source: Sequence[str]) -> list[Json]:
    first, last = max(1, finding.line - AROUND), min(len(source), max(finding.line, finding.end_line) + AROUND)
    width = len(str(last))
    numbers = range(first, last + 1) if finding.line <= len(source) else range(0)
    shared = min(
        (len(source[n - 1]) - len(source[n - 1].lstrip()) for n in numbers if source[n - 1].strip()), default=0
    )
    return [
        {
            "number": str(number).rjust(width),
            "text": source[number - 1][shared:],
            "hit": finding.line <= number <= max(finding.line, finding.end_line),
        }
        for number in numbers
    ]


def _step(file: str, line: int, text: str, place: int, lines: Lines) -> Json:
    source = lines(place, file)
    code = source[line - 1].strip() if 1 <= line <= len(source) else ""
    return {"text": text, "place": f"{file.rpartition('/')[2]}:{line}", "code": code}
