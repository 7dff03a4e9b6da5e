"""Tests the tests: every reproducer has to fail under the faults it is for, and pass without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from patchkit.regress.reproducers import Reproducer
from patchkit.regress.results import BROKEN, PASSED, SKIPPED, Case, Outcome, Run

FAULTS = ("lost", "misplaced", "garbage", "restrided", "lost-views", "dropped")


@dataclass(frozen=True)
class Cell:
    """One reproducer under one fault.

    Args:
        killed: cases that passed without the fault and failed with it.
        mutants: cases that passed without the fault and have to fail with it.
        survivors: node ids of those that passed all the same.
        explained: node id and reason of cases in which the fault cannot be seen.
        false_alarms: controls that failed although the fault must not touch them.
    """

    reproducer: str
    fault: str
    killed: int
    mutants: int
    survivors: tuple[str, ...]
    explained: tuple[tuple[str, str], ...]
    false_alarms: tuple[str, ...]

    @property
    def proves(self) -> bool:
        """Whether the reproducer caught the fault in every case that can, and raised no false alarm."""
        return self.killed == self.mutants > 0 and not self.false_alarms


def cell(reproducer: str, fault: str, clean: Outcome, faulty: Outcome) -> Cell:
    """Compare one reproducer's cases with and without a fault; what fails or skips without it does not
    count."""
    before = {case.name: case for case in clean.cases if case.status == PASSED}
    after = {case.name: case for case in faulty.cases if case.name in before}
    explained = {c.name: why for c in after.values() if (why := _explanation(c, fault))}
    mutants = [c for c in after.values() if not c.control and c.name not in explained]
    missing = [name for name, case in before.items() if name not in after and not case.control]
    survivors = [case.name for case in mutants if case.status not in BROKEN] + missing
    return Cell(
        reproducer=reproducer,
        fault=fault,
        killed=len(mutants) + len(missing) - len(survivors),
        mutants=len(mutants) + len(missing),
        survivors=tuple(survivors),
        explained=tuple(explained.items()),
        false_alarms=tuple(c.name for c in after.values() if c.control and c.status in BROKEN),
    )


def _explanation(case: Case, fault: str) -> str:
    """Why the fault cannot be seen in a case: said by the test, or found out while it passed."""
    if fault in case.survives:
        return case.survives[fault]
    return str(case.facts.get("escaped", "")) if case.status not in BROKEN else ""


def matrix(reproducers: Sequence[Reproducer], clean: Run, faulty: Sequence[Run]) -> tuple[Cell, ...]:
    """Return a cell for each reproducer and each of its faults that ran; a page that was skipped whole has
    none."""
    before = {o.reproducer: o for o in clean.outcomes if o.status != SKIPPED}
    cells = []
    for run in faulty:
        after = {outcome.reproducer: outcome for outcome in run.outcomes}
        for reproducer in reproducers:
            name, fault = reproducer.name, run.subject.simulate
            if fault in reproducer.faults and name in before and name in after:
                cells.append(cell(name, fault, before[name], after[name]))
    return tuple(cells)
