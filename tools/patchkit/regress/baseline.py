"""Compares two runs: what a change fixed, left broken, or broke."""

from __future__ import annotations

from dataclasses import dataclass

from patchkit.regress.results import BROKEN, EXPECTED_FAILURE, PASSED, UNEXPECTED_PASS, Case, Run

FIXED = "fixed"
STILL_BROKEN = "still broken"
NEWLY_BROKEN = "newly broken"
UNCHANGED = "unchanged"
NOT_COMPARED = "not compared"

_WORKS = (PASSED, UNEXPECTED_PASS)


@dataclass(frozen=True)
class Change:
    """What became of one reproducer between two runs.

    Args:
        verdict: ``fixed`` (failed before, passes now: only this proves a fix), ``still broken``, ``newly
            broken``,
            ``unchanged`` (passes in both), or ``not compared`` (no case ran in both).
        fixed, still_broken, newly_broken: node ids of the cases.
        expected: whether all that is still broken is a known failure of the release under test.
    """

    reproducer: str
    verdict: str
    fixed: tuple[str, ...]
    still_broken: tuple[str, ...]
    newly_broken: tuple[str, ...]
    expected: bool

    @property
    def fails(self) -> bool:
        """Whether the change makes the command fail."""
        return self.verdict == NEWLY_BROKEN or (self.verdict == STILL_BROKEN and not self.expected)


def compare(before: Run, after: Run) -> tuple[Change, ...]:
    """Compare case by case; the reproducers of either run, in the order of ``after``."""
    old = {outcome.reproducer: {case.name: case for case in outcome.cases} for outcome in before.outcomes}
    new = {outcome.reproducer: {case.name: case for case in outcome.cases} for outcome in after.outcomes}
    return tuple(_change(name, old.get(name, {}), new.get(name, {})) for name in {**new, **old})


def _change(name: str, old: dict[str, Case], new: dict[str, Case]) -> Change:
    broken_before = {case for case, result in old.items() if result.status in BROKEN}
    broken_now = {case for case, result in new.items() if result.status in BROKEN}
    worked_before = {case for case, result in old.items() if result.status in _WORKS}
    works_now = {case for case, result in new.items() if result.status in _WORKS}
    fixed = broken_before & works_now
    still = broken_before & broken_now
    # a case that only the new run has cannot be blamed on the change, but a page that no longer loads can
    newly = (broken_now & worked_before) | {case for case in broken_now - set(old) if worked_before}
    if newly:
        verdict = NEWLY_BROKEN
    elif still:
        verdict = STILL_BROKEN
    elif fixed:
        verdict = FIXED
    else:
        verdict = UNCHANGED if worked_before & works_now else NOT_COMPARED
    return Change(
        reproducer=name,
        verdict=verdict,
        fixed=tuple(sorted(fixed)),
        still_broken=tuple(sorted(still)),
        newly_broken=tuple(sorted(newly)),
        expected=all(new[case].status == EXPECTED_FAILURE for case in still),
    )
