"""Annotations of GitHub Actions, the table of a step summary, and lintrunner's messages."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from patchkit.output import Edit, Look, render
from patchkit.output import markdown as markdown_format
from patchkit.scan.findings import Finding, Notice, ScanReport, SetAside, Undecided
from patchkit.source.tree import Tree

FILE = "aten/src/ATen/native/mps/operations/X.mm"
FINDING = Finding(
    rule="MPS101",
    effect="lost",
    layouts=("strided", "offset"),
    macos="<15",
    file=FILE,
    line=7,
    column=3,
    end_line=7,
    function="kernel_out",
    tensor="output",
    ops=("addcmul.out",),
    triggers=("out",),
    confidence="high",
    message="100 % of it\nis lost",
    trace=(),
    fixable=True,
    fingerprint="abc",
)
TREE = Tree(Path("pytorch"), "2.6.0", "pytorch")


def report_of(*findings, **others):
    return ScanReport("2.6.0", "pytorch", 1, 1, 0.1, findings, (), others.pop("undecided", ()), **others)


def rendered(report, format_name, look=None):
    return render(report, TREE, look or Look(), format_name=format_name)


# -- github


def test_an_annotation_is_one_line_with_the_place_and_the_escaped_text():
    first = rendered(report_of(FINDING), "github").splitlines()[0]
    assert first.startswith(f"::error file={FILE},line=7,endLine=7,col=3,title=MPS101 lost%3A kernel_out::")
    assert "100 %25 of it%0Ais lost" in first


def test_properties_escape_what_would_end_them():
    first = rendered(report_of(replace(FINDING, file="a,b:c.mm")), "github").splitlines()[0]
    assert "file=a%2Cb%3Ac.mm,line=7" in first


def test_an_annotation_over_several_lines_has_no_column():
    assert ",col=" not in rendered(report_of(replace(FINDING, end_line=9)), "github")


def test_the_surest_annotations_come_first():
    low = replace(FINDING, confidence="low", line=1)
    assert [line[:8] for line in rendered(report_of(low, FINDING), "github").splitlines()[:2]] == [
        "::error ",
        "::notice",
    ]


def test_annotations_use_the_repository_s_paths():
    assert f"file=sub/{FILE}," in rendered(report_of(FINDING), "github", Look(folder="sub"))


def test_the_last_line_counts():
    assert rendered(report_of(FINDING), "github").splitlines()[-1].startswith("patchkit: 1 finding, ")


# -- markdown


def test_the_table_has_one_row_for_each_finding():
    rows = [line for line in rendered(report_of(FINDING, FINDING), "markdown").splitlines() if line.startswith("| MPS")]
    assert len(rows) == 2
    assert "| `aten/src/ATen/native/mps/operations/X.mm:7` | `kernel_out` `output` | `addcmul.out` |" in rows[0]


@pytest.mark.parametrize("tensor", ["a | b", "a\nb", "`a`"])
def test_a_cell_cannot_break_the_table(tensor):
    rows = [
        line
        for line in rendered(report_of(replace(FINDING, tensor=tensor)), "markdown").splitlines()
        if line.startswith("| MPS")
    ]
    assert len(rows) == 1
    assert rows[0].replace("\\|", "").count("|") == 8


def test_a_table_that_a_step_summary_cannot_hold_says_what_it_leaves_out(monkeypatch):
    monkeypatch.setattr(markdown_format, "LARGEST", 400)
    shown = rendered(report_of(*[FINDING] * 10), "markdown")
    rows = [line for line in shown.splitlines() if line.startswith("| MPS")]
    assert f"| and {10 - len(rows)} more |" in shown
    assert rows


def test_what_was_set_aside_is_counted_by_reason():
    shown = rendered(report_of(set_aside=(SetAside(FINDING, "baseline"),)), "markdown")
    assert "1 set aside (1 by baseline)" in shown


# -- lintrunner


def messages(report, look=None):
    return [json.loads(line) for line in rendered(report, "lintrunner", look).splitlines()]


def test_a_clean_tree_has_no_message():
    assert rendered(report_of(), "lintrunner") == ""


def test_a_message_has_all_keys_that_lintrunner_reads():
    message = messages(report_of(FINDING))[0]
    assert message.keys() == {
        "path", "line", "char", "code", "severity", "name", "original", "replacement", "description",
    }  # fmt: skip
    assert (message["path"], message["line"], message["char"]) == (f"pytorch/{FILE}", 7, 3)
    assert message["severity"] == "error"


def test_one_message_of_a_file_carries_the_replacement():
    other = replace(FINDING, line=9, fingerprint="def")
    look = Look(edits={FILE: Edit("before\n", "after\n", frozenset(("abc", "def")))})
    first, second = messages(report_of(FINDING, other), look)
    assert (first["original"], first["replacement"]) == ("before\n", "after\n")
    assert second["replacement"] is None


def test_without_an_edit_the_message_says_so():
    message = messages(report_of(FINDING))[0]
    assert message["original"] is message["replacement"] is None
    assert "No verified edit" in message["description"]


def test_an_edit_that_would_touch_what_was_set_aside_is_not_offered():
    look = Look(edits={FILE: Edit("before\n", "after\n", frozenset(("abc", "suppressed")))})
    assert messages(report_of(FINDING), look)[0]["replacement"] is None


def test_undecided_sites_are_advice_and_notices_warnings():
    report = report_of(undecided=(Undecided(FILE, 1, "f", "", "why"),), notices=(Notice(FILE, 2, "unused"),))
    assert [one["severity"] for one in messages(report)] == ["advice", "warning"]
