"""A page of its own, and the section that the scan's page takes in: verdicts, matrix, comparison, loss
curves."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from patchkit.regress.baseline import Change
from patchkit.regress.matrix import Cell
from patchkit.regress.plot import draw, loss_curves
from patchkit.regress.reproducers import base_name
from patchkit.regress.results import BAD, EXPECTED_FAILURE, PASSED, SKIPPED, Run
from patchkit.regress.summary import headline, subject_line

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto;
  max-width: 70rem; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd }
th { text-align: left } td.number { text-align: right } .bad { color: #a40000; font-weight: 600 }
.good { color: #00662b } .expected { color: #8a5a00 }
pre { background: #f6f6f6; padding: .6rem; overflow-x: auto }
svg { max-width: 100%; height: auto }
"""
MOST_LOGS = 50


def render(runs: Sequence[Run], changes: Sequence[Change] = (), cells: Sequence[Cell] = ()) -> str:
    """Return the whole page; it refers to nothing outside itself."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>patchkit test</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body>\n<h1>patchkit test</h1>\n"
        f"{section(runs, changes, cells)}</body></html>\n"
    )


def section(runs: Sequence[Run], changes: Sequence[Change] = (), cells: Sequence[Cell] = ()) -> str:
    """Return the part between a page's headings, for a page that has its own head and style."""
    run = runs[-1]
    parts = [f"<p>{escape(subject_line(one.subject))}</p>" for one in runs]
    parts.append(f"<p><strong>{escape(headline(run))}</strong></p>")
    curves = loss_curves(runs)
    if curves:
        parts.append(draw(curves, "Training loss with a transposed and a contiguous encoder"))
    if cells:
        parts.append(_matrix(cells))
    else:
        parts += [_changes(changes) if changes else "", _run(run), _logs(run)]
    return "\n".join(part for part in parts if part) + "\n"


def verdicts_by_op(run: Run) -> dict[str, tuple[str, ...]]:
    """Return what the run says of each operator, for the rows of a scan: results of the pages that
    exercise it."""
    found: dict[str, list[str]] = {}
    for outcome in run.outcomes:
        said = ", ".join(outcome.verdicts) or outcome.status
        for op in outcome.ops:
            found.setdefault(base_name(op), []).append(f"{outcome.reproducer}: {said}")
    return {op: tuple(said) for op, said in found.items()}


def _run(run: Run) -> str:
    rows = []
    for o in run.outcomes:
        style = "bad" if o.status in BAD or o.status == "error" else "good" if o.status == PASSED else "expected"
        numbers = (o.count(PASSED), o.count(*BAD), o.count(EXPECTED_FAILURE), o.count(SKIPPED))
        rows.append(
            [
                _text(o.reproducer),
                _text(o.status, style),
                *map(_number, numbers),
                _text(", ".join(o.verdicts)),
            ]
        )
    return _table(("reproducer", "result", "passed", "failed", "expected", "skipped", "verdicts"), rows)


def _logs(run: Run) -> str:
    bad = [case for outcome in run.outcomes for case in outcome.cases if case.status in BAD]
    return "\n".join(
        f"<details><summary>{escape(case.status)}: <code>{escape(case.name)}</code></summary>"
        f"<pre>{escape(case.log or case.message)}</pre></details>"
        for case in bad[:MOST_LOGS]
    )


def _changes(changes: Sequence[Change]) -> str:
    rows = [
        [_text(c.reproducer), _text(c.verdict, "bad" if c.fails else "good")]
        + [_number(len(cases)) for cases in (c.fixed, c.still_broken, c.newly_broken)]
        for c in changes
    ]
    return _table(("reproducer", "against the baseline", "fixed", "still broken", "newly broken"), rows)


def _matrix(cells: Sequence[Cell]) -> str:
    faults = list(dict.fromkeys(cell.fault for cell in cells))
    found = {(cell.reproducer, cell.fault): cell for cell in cells}
    rows = []
    for name in dict.fromkeys(cell.reproducer for cell in cells):
        row = [found.get((name, fault)) for fault in faults]
        rows.append(
            [_text(name)]
            + [_text(f"{c.killed}/{c.mutants}", "good" if c.proves else "bad") if c else "<td></td>" for c in row]
        )
    left = [f"survivor under {c.fault}: {name}" for c in cells for name in c.survivors]
    left += [f"false alarm under {c.fault}: {name}" for c in cells for name in c.false_alarms]
    left += list(dict.fromkeys(f"explained under {c.fault}: {why}" for c in cells for _, why in c.explained))
    return _table(("killed mutants", *faults), rows) + "<ul>" + "".join(f"<li>{escape(x)}</li>" for x in left) + "</ul>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"


def _text(text: str, style: str = "") -> str:
    return f'<td class="{style}">{escape(text)}</td>' if style else f"<td>{escape(text)}</td>"


def _number(value: int) -> str:
    return f'<td class="number">{value}</td>'
