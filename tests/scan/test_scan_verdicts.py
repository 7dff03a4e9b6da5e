"""The scan of real trees against verdicts that were made by reading every kernel."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from verdict_kit import LAYOUTS, Difference, differences, load_facts, load_known, outcomes, score, table

from tree_kit import Release

pytestmark = pytest.mark.real_tree

BAR = 0.97


def test_precision_and_recall_per_graph_result(release: Release, show_table: Callable[[str], None]) -> None:
    facts = load_facts(release.version)
    show_table(table(release.version, facts, release.report))
    result = score(facts, release.report)
    assert min(result.precision, result.recall) >= BAR


@pytest.mark.parametrize("layout", LAYOUTS)
def test_recall_per_layout(release: Release, layout: str) -> None:
    assert score(load_facts(release.version), release.report, layout).recall >= BAR


def test_less_than_two_in_a_hundred_are_undecided(release: Release) -> None:
    assert len(release.report.undecided) < 0.02 * release.report.sites


def test_every_graph_result_that_was_read_is_in_exactly_one_list(release: Release) -> None:
    report = release.report
    listed = [e for e in (*report.findings, *report.cleared, *report.undecided) if e.tensor]
    assert len(outcomes(report)) == len(listed)
    results = {fact.place for fact in load_facts(release.version)}
    assert results <= outcomes(report).keys()


def test_the_scan_differs_from_the_verdicts_only_where_it_is_known_to(release: Release) -> None:
    found = set(differences(release.version, load_facts(release.version), release.report))
    known = {d for d in load_known() if d.version == release.version}
    assert _listed(found - known) == [], "differences that verdicts/known.json does not explain"
    assert _listed(known - found) == [], "differences that are gone: take them out of verdicts/known.json"


def test_every_finding_names_an_overload_that_was_read_to_reach_it(release: Release) -> None:
    found = outcomes(release.report)
    strangers = [
        (fact.function, finding.ops)
        for fact in load_facts(release.version)
        if (finding := found[fact.place].finding) and fact.ops and not fact.ops & set(finding.ops)
    ]
    assert strangers == []


def test_every_known_difference_is_explained() -> None:
    assert [str(d) for d, why in load_known().items() if len(why.split()) < 5] == []


def _listed(differences: set[Difference]) -> list[str]:
    return sorted(str(d) for d in differences)
