"""The table of operators and releases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from patchkit.errors import UnknownVersionError, UsageError
from patchkit.scan.cache import Scanned
from patchkit.scan.findings import Finding, ScanReport, Undecided
from patchkit.scan.matrix import make_matrix
from patchkit.scan.scope import releases
from patchkit.scan.scope.releases import named_versions

FINDING = Finding(
    "MPS101", "lost", ("strided",), "<15", "a.mm", 3, 5, 3, "f", "output", ("addcmul.out", "addcmul_"), ("out",),
    "high", "the result is lost", (), False, "abc",
)  # fmt: skip


def scan(version, *findings, ops=("addcmul.out", "addcmul_", "cumsum"), undecided=()):
    return Scanned(ScanReport(version, version, 1, 2, 0.1, findings, (), undecided), ops, ())


def states(*scans):
    return {row.op: [cell.state for cell in row.cells] for row in make_matrix(scans).rows}


def row(*scans):
    return make_matrix(scans).rows[0]


def test_an_operator_is_one_row_with_all_its_forms():
    assert states(scan("2.2.0", FINDING)) == {"addcmul": ["lost"]}


def test_an_operator_without_findings_in_any_release_has_no_row():
    assert states(scan("2.2.0"), scan("2.3.0")) == {}


def test_a_release_without_the_finding_fixes_the_operator():
    assert states(scan("2.3.0", FINDING), scan("2.4.0")) == {"addcmul": ["lost", "fixed"]}


def test_a_release_before_the_first_finding_is_ok():
    assert states(scan("2.3.0"), scan("2.4.0", FINDING)) == {"addcmul": ["safe", "lost"]}


def test_an_operator_that_no_longer_has_a_kernel_is_gone_and_one_that_has_none_yet_is_absent():
    before, after = scan("1.12.0", ops=()), scan("2.6.0", ops=())
    assert states(before, scan("2.3.0", FINDING), after) == {"addcmul": ["absent", "lost", "gone"]}


def test_what_the_scan_cannot_follow_is_no_fix():
    unsure = scan("2.4.0", undecided=(Undecided("a.mm", 3, "f", "output", "too many paths"),))
    found = row(scan("2.3.0", FINDING), unsure)
    assert [cell.state for cell in found.cells] == ["lost", "undecided"]
    assert found.first_safe == ""


def test_releases_are_ordered_by_version():
    scans = [scan("2.10.0"), scan("2.9.1", FINDING), scan("1.13.1", FINDING)]
    assert [release.version for release in make_matrix(scans).releases] == ["1.13.1", "2.9.1", "2.10.0"]


def test_the_first_safe_release_is_behind_the_last_finding():
    assert (
        row(scan("2.1.0", FINDING), scan("2.2.0"), scan("2.3.0", FINDING), scan("2.4.0"), scan("2.5.0")).first_safe
        == "2.4.0"
    )


def test_an_operator_that_the_newest_release_loses_is_not_safe_yet():
    assert row(scan("2.1.0"), scan("2.2.0", FINDING)).safe_from == "not yet"


def test_a_cell_shows_the_worst_effect():
    mild = replace(FINDING, effect="restrided", rule="MPS105")
    assert states(scan("2.2.0", mild, FINDING)) == {"addcmul": ["lost"]}


# -- --versions


def test_versions_are_a_list():
    assert named_versions("1.13.1, 2.6.0,1.13.1") == ["1.13.1", "2.6.0"]


def test_a_range_holds_the_releases_that_the_remote_has(monkeypatch):
    monkeypatch.setattr(releases, "release_tags", lambda remote: ["2.10.0", "2.9.1", "2.9.0", "2.8.0", "2.11.0"])
    assert named_versions("2.9..2.10.0") == ["2.9.0", "2.9.1", "2.10.0"]


def test_a_range_without_releases_is_an_error(monkeypatch):
    monkeypatch.setattr(releases, "release_tags", lambda remote: ["2.10.0"])
    with pytest.raises(UnknownVersionError, match=r"no release from 1\.0\.0 to 1\.5\.0"):
        named_versions("1.0.0..1.5.0")


@pytest.mark.parametrize("text", ["2.4.0..2.0.0", "a..b", "2.0.0..", "1.13.1,,2.6.0"])
def test_a_range_that_is_none_is_wrong_usage(text):
    with pytest.raises(UsageError):
        named_versions(text)
