"""Expectations, the comparison with a baseline, and the killed-mutants matrix, on results made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from patchkit.errors import InputError
from patchkit.regress import baseline, expected, matrix
from patchkit.regress.command import exit_code
from patchkit.regress.reproducers import Reproducer
from patchkit.regress.results import (
    CRASHED,
    EXPECTED_FAILURE,
    FAILED,
    PASSED,
    SKIPPED,
    UNEXPECTED_PASS,
    Case,
    Outcome,
    Run,
    Subject,
)

PAGE = Reproducer(
    "mps_outputs/test_x",
    Path("x.py"),
    "mps_outputs",
    "t",
    ("addcmul_",),
    ("pytorch#1",),
    "<2.4",
    "2.4",
    "all",
    ("lost",),
)


def subject(version: str = "2.2.1", device: str = "mps", macos: str = "14.5", forced: bool = False) -> Subject:
    return Subject("w", {"torch": version, "macos": macos}, device, forced)


def outcome(*cases: Case, name: str = PAGE.name) -> Outcome:
    return Outcome(name, "mps_outputs", "t", (), (), cases, 0.0)


def run(*outcomes: Outcome) -> Run:
    return Run(subject(), outcomes, 0.0)


def judged(page: Reproducer, where: Subject, *cases: Case) -> list[str]:
    return [case.status for case in expected.judge(page, outcome(*cases), where, ()).cases]


def with_page(**changes: object) -> Reproducer:
    return Reproducer(**{**PAGE.__dict__, **changes})  # type: ignore[arg-type]


def test_a_known_broken_release_fails_as_expected() -> None:
    assert judged(PAGE, subject("2.2.1"), Case("a", FAILED), Case("b", PASSED)) == [EXPECTED_FAILURE, PASSED]


def test_a_page_that_passes_against_expectation_is_an_error() -> None:
    cases = [Case("a", PASSED), Case("control", PASSED, control=True)]
    assert judged(PAGE, subject("2.2.1"), *cases) == [UNEXPECTED_PASS, PASSED]


def test_a_control_that_fails_is_never_expected() -> None:
    cases = [Case("a", FAILED), Case("control", FAILED, control=True)]
    assert judged(PAGE, subject("2.2.1"), *cases) == [EXPECTED_FAILURE, FAILED]


@pytest.mark.parametrize(
    "where",
    [subject("2.4.0"), subject("2.2.1+patchkit.1"), subject("2.2.1", "cpu"), subject("2.13.0+cpu")],
    ids=["fixed release", "patched wheel", "other device", "newer cpu wheel"],
)
def test_elsewhere_a_failure_is_a_failure(where: Subject) -> None:
    assert judged(PAGE, where, Case("a", FAILED)) == [FAILED]


def test_the_macos_range_decides_and_a_forced_path_counts_as_older() -> None:
    page = with_page(broken="<2.10", macos="<15")
    assert judged(page, subject("2.6.0", macos="14.5"), Case("a", FAILED)) == [EXPECTED_FAILURE]
    assert judged(page, subject("2.6.0", macos="15.1"), Case("a", FAILED)) == [FAILED]
    assert judged(page, subject("2.6.0", macos="15.1", forced=True), Case("a", FAILED)) == [EXPECTED_FAILURE]


def test_a_known_failure_rule_is_about_its_cases_versions_and_device() -> None:
    rule = expected.KnownFailure("p.py::test_out[*-gelu]", "==2.13.*", "cpu", "gelu")
    page = with_page(broken="never")
    cases = (Case("p.py::test_out[a-gelu]", FAILED), Case("p.py::test_out[a-elu]", FAILED))

    def statuses(where: Subject) -> list[str]:
        return [case.status for case in expected.judge(page, outcome(*cases), where, [rule]).cases]

    assert statuses(subject("2.13.0+cpu", "cpu")) == [EXPECTED_FAILURE, FAILED]
    assert statuses(subject("2.13.0+mine", "cpu")) == [FAILED, FAILED]
    assert statuses(subject("2.12.0", "cpu")) == [FAILED, FAILED]
    assert statuses(subject("2.13.0", "cuda")) == [FAILED, FAILED]


def test_a_known_failure_that_passes_is_an_error_and_a_crash_is_never_expected() -> None:
    rule = expected.KnownFailure("a*", "==2.13.*", "cpu", "gelu")
    cases = (Case("a1", PASSED), Case("a2", CRASHED), Case("a3", SKIPPED))
    judged_outcome = expected.judge(PAGE, outcome(*cases), subject("2.13.0", "cpu"), [rule])
    assert [case.status for case in judged_outcome.cases] == [UNEXPECTED_PASS, CRASHED, SKIPPED]


def test_known_failures_that_cannot_be_read_are_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "expected.json").write_text(json.dumps({"failures": [{"why": "x"}]}))
    with pytest.raises(InputError, match=r"expected\.json is not usable"):
        expected.read_known_failures(tmp_path)


@pytest.mark.parametrize(
    ("before", "after", "verdict", "code"),
    [
        (FAILED, PASSED, baseline.FIXED, 0),
        (CRASHED, PASSED, baseline.FIXED, 0),
        (EXPECTED_FAILURE, PASSED, baseline.FIXED, 0),
        (FAILED, FAILED, baseline.STILL_BROKEN, 1),
        (EXPECTED_FAILURE, EXPECTED_FAILURE, baseline.STILL_BROKEN, 0),
        (PASSED, FAILED, baseline.NEWLY_BROKEN, 1),
        (PASSED, PASSED, baseline.UNCHANGED, 0),
        (SKIPPED, PASSED, baseline.NOT_COMPARED, 0),
        (FAILED, SKIPPED, baseline.NOT_COMPARED, 0),
    ],
)
def test_the_comparison_and_its_exit_code(before: str, after: str, verdict: str, code: int) -> None:
    new = run(outcome(Case("a", after)))
    changes = baseline.compare(run(outcome(Case("a", before))), new)
    assert [change.verdict for change in changes] == [verdict]
    assert exit_code(new, changes) == code


def test_one_newly_broken_case_outweighs_the_fixed_ones() -> None:
    before = run(outcome(Case("a", FAILED), Case("b", PASSED)))
    after = run(outcome(Case("a", PASSED), Case("b", FAILED)))
    (change,) = baseline.compare(before, after)
    assert (change.verdict, change.fixed, change.newly_broken) == (baseline.NEWLY_BROKEN, ("a",), ("b",))


def test_a_page_that_no_longer_loads_is_newly_broken() -> None:
    (change,) = baseline.compare(run(outcome(Case("a", PASSED))), run(outcome(Case("collection", CRASHED))))
    assert change.verdict == baseline.NEWLY_BROKEN


def cell_of(clean: list[Case], faulty: list[Case]) -> matrix.Cell:
    return matrix.cell("page", "lost", outcome(*clean), outcome(*faulty))


def test_a_fault_is_killed_by_a_case_that_passed_without_it() -> None:
    cell = cell_of([Case("a", PASSED), Case("b", FAILED)], [Case("a", FAILED), Case("b", FAILED)])
    assert (cell.killed, cell.mutants, cell.proves) == (1, 1, True)


def test_a_survivor_is_named_and_proves_nothing() -> None:
    cell = cell_of([Case("a", PASSED), Case("b", PASSED)], [Case("a", FAILED), Case("b", PASSED)])
    assert (cell.survivors, cell.proves) == (("b",), False)


def test_a_case_that_disappears_under_the_fault_is_a_survivor() -> None:
    assert cell_of([Case("a", PASSED)], []).survivors == ("a",)


def test_a_skip_under_the_fault_is_a_survivor() -> None:
    assert cell_of([Case("a", PASSED)], [Case("a", SKIPPED)]).survivors == ("a",)


def test_an_explained_survivor_does_not_count_but_is_kept() -> None:
    clean = [Case("a", PASSED), Case("b", PASSED)]
    cell = cell_of(clean, [Case("a", FAILED), Case("b", PASSED, survives={"lost": "why"})])
    assert (cell.killed, cell.mutants, cell.explained, cell.proves) == (1, 1, (("b", "why"),), True)


def test_a_control_must_pass_under_the_fault() -> None:
    clean = [Case("a", PASSED), Case("c", PASSED, control=True)]
    cell = cell_of(clean, [Case("a", FAILED), Case("c", FAILED, control=True)])
    assert (cell.false_alarms, cell.proves) == (("c",), False)


def test_a_page_without_any_mutant_proves_nothing() -> None:
    cell = cell_of([Case("c", PASSED, control=True)], [Case("c", PASSED, control=True)])
    assert not cell.proves


def test_a_page_that_is_skipped_whole_has_no_cell() -> None:
    clean = run(outcome(Case("a", SKIPPED)))
    faulty = Run(Subject("w", {"torch": "2.2.1"}, "cpu", simulate="lost"), clean.outcomes, 0.0)
    assert matrix.matrix([PAGE], clean, [faulty]) == ()
