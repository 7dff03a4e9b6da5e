"""What a person at a terminal sees of notices and of findings that were set aside."""

from __future__ import annotations

from pathlib import Path

from patchkit.output import Look, render
from patchkit.scan.findings import Finding, Notice, ScanReport, SetAside
from patchkit.source.tree import Tree

FINDING = Finding(
    "MPS101",
    "lost",
    ("strided",),
    "<15",
    "a.mm",
    3,
    5,
    3,
    "f",
    "output",
    (),
    ("out",),
    "high",
    "lost",
    (),
    False,
    "abc",
)


def shown(**others):
    report = ScanReport("2.6.0", "pytorch", 1, 1, 0.1, (), (), (), **others)
    return render(report, Tree(Path(), "2.6.0", "pytorch"), Look(), format_name="text")


def test_a_notice_names_its_place():
    assert "note: a.mm:7: it is not used." in shown(notices=(Notice("a.mm", 7, "it is not used."),))
    assert "note: known.json: one is gone." in shown(notices=(Notice("known.json", 0, "one is gone."),))


def test_what_was_set_aside_is_counted_by_reason():
    aside = (SetAside(FINDING, "baseline"), SetAside(FINDING, "suppression", "why"), SetAside(FINDING, "baseline"))
    assert "3 findings set aside (2 by baseline, 1 by suppression)" in " ".join(shown(set_aside=aside).split())


def test_a_report_without_either_says_nothing_of_them():
    assert "set aside" not in shown()
    assert "note:" not in shown()
