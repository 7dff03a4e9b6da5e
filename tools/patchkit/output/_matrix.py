"""The table of operators and releases, as text, JSON and Markdown; ``html`` has a page of its own."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import asdict

from patchkit.output import Look
from patchkit.output._terminal import count_of, wrap
from patchkit.scan.findings import ScanReport
from patchkit.scan.matrix import ABSENT, FIXED, GONE, SAFE, UNDECIDED, Matrix, Row
from patchkit.source.tree import Tree

SCHEMA = "patchkit-matrix/1"
FORMATS = ("text", "json", "markdown", "html")
WORDS = {ABSENT: "-", GONE: "gone", SAFE: "ok", FIXED: "fixed", UNDECIDED: "?"}
_STYLES = {SAFE: "green", FIXED: "green", GONE: "dim", ABSENT: "dim", UNDECIDED: "yellow"}
LEGEND = (
    "fixed: an earlier release had a finding; ok: none had; ?: the scan cannot follow the kernel; "
    "gone, -: no kernel for MPS tensors, any more or yet"
)


def render_matrix(
    matrix: Matrix, reports: Sequence[ScanReport], trees: Sequence[Tree], look: Look, *, format_name: str
) -> str:
    """Return the table in one of :data:`FORMATS`, ending in a newline; reports and trees are in its order."""
    if format_name == "html":
        from patchkit.output import html

        return html.render_matrix(matrix, reports, trees)
    return {"text": _text, "json": _json, "markdown": _markdown}[format_name](matrix, look)


def _text(matrix: Matrix, look: Look) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("operator", overflow="fold")
    for release in matrix.releases:
        table.add_column(release.version, no_wrap=True)
    table.add_column("first safe in", no_wrap=True)
    for row in matrix.rows:
        cells = [
            Text(WORDS.get(cell.state, cell.state), style=_STYLES.get(cell.state, "bold red")) for cell in row.cells
        ]
        table.add_row(row.op, *cells, row.safe_from)
    stream = io.StringIO()
    # a table wider than the terminal is easier to read in a pager than one whose versions are cut
    width = max(look.width, 30 + 14 * (len(matrix.releases) + 1))
    console = Console(
        file=stream,
        width=width,
        force_terminal=look.color,
        color_system="standard" if look.color else None,
        markup=False,
        highlight=False,
        emoji=False,
    )
    console.print(table)
    lines = [line.rstrip() for line in stream.getvalue().splitlines()] if matrix.rows else []
    return "\n".join([*lines, *wrap(f"{LEGEND}.", look.width), *wrap(counted(matrix), look.width)]) + "\n"


def counted(matrix: Matrix) -> str:
    """Return one sentence: how many operators, in how many releases, and how many are still hit in the newest."""
    still = sum(row.cells[-1].bad for row in matrix.rows)
    newest = matrix.releases[-1].version
    lost = count_of(len(matrix.rows), "operator")
    return f"{lost} with findings in {count_of(len(matrix.releases), 'release')}; {still} of them in {newest}."


def _json(matrix: Matrix, look: Look) -> str:
    rows = [
        {
            "op": row.op,
            "first_safe": row.first_safe or None,
            "cells": [
                {
                    "version": release.version,
                    "state": cell.state,
                    "findings": [finding.fingerprint for finding in cell.findings],
                    "layouts": sorted({layout for finding in cell.findings for layout in finding.layouts}),
                    "macos": sorted({finding.macos for finding in cell.findings}),
                }
                for release, cell in zip(matrix.releases, row.cells, strict=True)
            ],
        }
        for row in matrix.rows
    ]
    releases = [asdict(release) for release in matrix.releases]
    return json.dumps({"schema": SCHEMA, "releases": releases, "ops": rows}, indent=2) + "\n"


def _markdown(matrix: Matrix, look: Look) -> str:
    versions = [release.version for release in matrix.releases]
    lines = [f"## patchkit: {counted(matrix)}", ""]
    lines.append("| operator | " + " | ".join(versions) + " | first safe in |")
    lines.append("|---" * (len(versions) + 2) + "|")
    lines += [_markdown_row(row) for row in matrix.rows]
    return "\n".join([*lines, "", f"{LEGEND}."]) + "\n"


def _markdown_row(row: Row) -> str:
    cells = [f"**{cell.state}**" if cell.bad else WORDS[cell.state] for cell in row.cells]
    return f"| `{row.op}` | {' | '.join(cells)} | {row.safe_from} |"
