"""Markdown for a CI step summary: one table, then what failed."""

from __future__ import annotations

from collections.abc import Sequence

from patchkit.regress.baseline import UNCHANGED, Change
from patchkit.regress.matrix import Cell
from patchkit.regress.results import BAD, EXPECTED_FAILURE, PASSED, SKIPPED, Run
from patchkit.regress.summary import headline, subject_line

MOST_FAILURES = 30


def render(runs: Sequence[Run], changes: Sequence[Change] = (), cells: Sequence[Cell] = ()) -> str:
    """Return the summary of the last run, the comparison and the matrix where there are any."""
    run = runs[-1]
    lines = [
        "## patchkit test",
        "",
        *[f"- {subject_line(r.subject)}" for r in runs],
        "",
        f"**{headline(run)}**",
        "",
    ]
    if cells:
        lines += _matrix(cells)
    else:
        if changes:
            lines += _changes(changes)
        lines += _table(run) + _failures(run)
    return "\n".join(lines).rstrip() + "\n"


def _table(run: Run) -> list[str]:
    lines = [
        "| reproducer | result | passed | failed | expected | skipped | verdicts |",
        "|---|---|--:|--:|--:|--:|---|",
    ]
    for o in run.outcomes:
        counts = (o.count(PASSED), o.count(*BAD), o.count(EXPECTED_FAILURE), o.count(SKIPPED))
        row = (o.reproducer, o.status, *counts, ", ".join(o.verdicts))
        lines.append("| " + " | ".join(_cell(str(value)) for value in row) + " |")
    return [*lines, ""]


def _failures(run: Run) -> list[str]:
    bad = [case for outcome in run.outcomes for case in outcome.cases if case.status in BAD]
    lines = []
    for case in bad[:MOST_FAILURES]:
        lines += [
            "<details>",
            f"<summary>{_html(case.status)}: <code>{_html(case.name)}</code></summary>",
            "",
        ]
        lines += [
            "```",
            *(case.log or case.message).replace("```", "'''").splitlines(),
            "```",
            "",
            "</details>",
            "",
        ]
    if len(bad) > MOST_FAILURES:
        lines += [f"{len(bad) - MOST_FAILURES} more are in the JSON and JUnit reports.", ""]
    return lines


def _changes(changes: Sequence[Change]) -> list[str]:
    lines = [
        "| reproducer | against the baseline | fixed | still broken | newly broken |",
        "|---|---|--:|--:|--:|",
    ]
    for c in sorted(changes, key=lambda c: c.verdict == UNCHANGED):
        row = (c.reproducer, c.verdict, len(c.fixed), len(c.still_broken), len(c.newly_broken))
        lines.append("| " + " | ".join(_cell(str(value)) for value in row) + " |")
    return [*lines, ""]


def _matrix(cells: Sequence[Cell]) -> list[str]:
    faults = list(dict.fromkeys(cell.fault for cell in cells))
    found = {(cell.reproducer, cell.fault): cell for cell in cells}
    lines = ["| reproducer | " + " | ".join(faults) + " |", "|---|" + "--:|" * len(faults)]
    for name in dict.fromkeys(cell.reproducer for cell in cells):
        row = [found.get((name, fault)) for fault in faults]
        lines.append(f"| {_cell(name)} | " + " | ".join(f"{c.killed}/{c.mutants}" if c else "" for c in row) + " |")
    lines.append("")
    for cell in cells:
        lines += [f"- survivor under {cell.fault}: `{name}`" for name in cell.survivors]
        lines += [f"- false alarm under {cell.fault}: `{name}`" for name in cell.false_alarms]
    reasons = dict.fromkeys((cell.fault, why) for cell in cells for _, why in cell.explained)
    lines += [f"- explained under {fault}: {why}" for fault, why in reasons]
    return [*lines, ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
