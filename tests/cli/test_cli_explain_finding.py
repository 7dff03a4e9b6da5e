"""``patchkit explain FINDING``: one finding, and the nearest safe kernel with the lines that differ."""

from __future__ import annotations

import json

import pytest

from patchkit.cli import run
from patchkit.demo import demo_tree_path
from patchkit.scan import scan_tree
from patchkit.source.tree import open_tree

TREE = str(demo_tree_path())


@pytest.fixture(scope="module")
def report():
    return scan_tree(open_tree(demo_tree_path()))


@pytest.fixture
def finding(report):
    return next(one for one in report.findings if "addcmul" in one.ops)


@pytest.fixture
def explained(capsys):
    def explain(what):
        assert run(["explain", what, TREE, "--format", "json"]) == 0
        return json.loads(capsys.readouterr().out)

    return explain


def lines(kernel):
    return (demo_tree_path() / kernel["file"]).read_text().split("\n")


def test_a_finding_is_named_by_its_fingerprint_or_by_its_line(explained, finding):
    for what in (
        finding.fingerprint,
        finding.fingerprint[:8],
        f"{finding.file}:{finding.line}",
        f"PointwiseOps.mm:{finding.line}",
    ):
        assert explained(what)["finding"]["fingerprint"] == finding.fingerprint


def test_the_kernel_beside_it_is_safe(explained, finding, report):
    safe = explained(finding.fingerprint)["comparison"]["safe"]
    assert (safe["file"], safe["function"]) in {(one.file, one.function) for one in report.cleared}
    assert (safe["file"], safe["function"]) not in {(one.file, one.function) for one in report.findings}


def test_the_lines_that_differ_are_the_placeholder_here_and_the_copy_back_there(explained, finding):
    compared = explained(finding.fingerprint)["comparison"]
    unsafe, safe = compared["unsafe"], compared["safe"]
    assert finding.line in unsafe["differs"]
    marked = [lines(safe)[number - 1] for number in safe["differs"]]
    assert any(".copy_(" in code for code in marked)
    assert any("is_contiguous" in code for code in marked)


def test_what_is_the_same_in_both_is_not_marked(explained, finding):
    compared = explained(finding.fingerprint)["comparison"]
    for kernel in (compared["unsafe"], compared["safe"]):
        assert all(kernel["line"] <= number <= kernel["end_line"] for number in kernel["differs"])
        assert len(kernel["differs"]) < kernel["end_line"] - kernel["line"]


def test_every_finding_can_be_explained(explained, report):
    for finding in report.findings:
        assert explained(finding.fingerprint)["comparison"] is not None


@pytest.mark.parametrize("columns", ["60", "100", "139"])
def test_the_text_shows_both_kernels_in_any_width(capsys, monkeypatch, finding, columns):
    monkeypatch.setenv("COLUMNS", columns)
    assert run(["explain", finding.fingerprint, TREE]) == 0
    shown = capsys.readouterr().out
    assert f"This kernel: {finding.function}" in shown
    assert "The nearest safe kernel: " in shown
    assert ".copy_(" in shown


def test_a_safe_line_says_why_it_is_safe(capsys, report):
    site = next(one for one in report.cleared if one.reason == "copy_back")
    assert run(["explain", f"{site.file}:{site.line}", TREE]) == 2
    assert "the result there is safe: " in capsys.readouterr().err


def test_a_line_without_a_result_names_the_lines_that_have_one(capsys, finding):
    assert run(["explain", f"{finding.file}:1", TREE]) == 2
    assert f"has findings in the lines {finding.line}" in capsys.readouterr().err


def test_a_finding_without_its_tree_is_wrong_usage(capsys, finding):
    assert run(["explain", finding.fingerprint]) == 2
    assert "add its tree" in capsys.readouterr().err
