"""The machine-readable report, ``patchkit-test/1``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from patchkit.regress.baseline import Change
from patchkit.regress.matrix import Cell
from patchkit.regress.results import SCHEMA, Case, Outcome, Run


def render(
    runs: Sequence[Run], changes: Sequence[Change] = (), cells: Sequence[Cell] = (), *, indent: int | None = 2
) -> str:
    """Return the report: the runs in order, then the comparison and the matrix where there are any."""
    document: dict[str, Any] = {"schema": SCHEMA, "runs": [run_to_dict(run) for run in runs]}
    if changes:
        document["changes"] = [asdict(change) | {"fails": change.fails} for change in changes]
    if cells:
        document["matrix"] = [asdict(cell) | {"proves": cell.proves} for cell in cells]
    return json.dumps(document, indent=indent) + "\n"


def run_to_dict(run: Run) -> dict[str, Any]:
    """Return one run as plain data."""
    subject = run.subject
    return {
        "subject": {
            "label": subject.label,
            "device": subject.device,
            "forced_pre15": subject.forced,
            "simulate": subject.simulate,
            **subject.facts,
        },
        "executed": run.executed,
        "seconds": round(run.seconds, 3),
        "stopped": run.stopped,
        "skipped": [{"reason": reason, "cases": count} for reason, count in run.skip_reasons],
        "reproducers": [_outcome(outcome) for outcome in run.outcomes],
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "reproducer": outcome.reproducer,
        "group": outcome.group,
        "title": outcome.title,
        "status": outcome.status,
        "verdicts": list(outcome.verdicts),
        "ops": list(outcome.ops),
        "references": list(outcome.references),
        "seconds": round(outcome.seconds, 3),
        "cases": [_case(case) for case in outcome.cases],
    }


def _case(case: Case) -> dict[str, Any]:
    found: dict[str, Any] = {"name": case.name, "status": case.status, "seconds": round(case.seconds, 4)}
    if case.message:
        found["message"] = case.message
    if case.log:
        found["log"] = case.log
    if case.facts:
        found["facts"] = dict(case.facts)
    if case.control:
        found["control"] = True
    return found
