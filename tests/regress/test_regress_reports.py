"""The reports: JSON, JUnit, Markdown, the page with its loss curves, and generated reproducers."""

from __future__ import annotations

import ast
import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from patchkit.errors import InputError, NothingRanError, UsageError
from patchkit.regress import generate, plot, report_html, report_json, report_junit, report_markdown
from patchkit.regress.baseline import compare
from patchkit.regress.matrix import cell
from patchkit.regress.reproducers import GROUPS, list_reproducers, read_reproducer
from patchkit.regress.results import (
    CRASHED,
    EXPECTED_FAILURE,
    FAILED,
    PASSED,
    SKIPPED,
    Case,
    Outcome,
    Run,
    Subject,
)
from patchkit.regress.session import check_forcible, require_something_ran
from patchkit.resources import reproducers_dir

FACTS = {
    "torch": "2.2.1", "git_version": "abc", "numpy": "1.26", "python": "3.11",
    "os": "Linux", "macos": "", "chip": "x",
    "wheel_sha256": "f" * 64,
}  # fmt: skip
CASES = (
    Case("g/test_a.py::test_good", PASSED, 0.5),
    Case("g/test_a.py::test_bad[<x>|y]", FAILED, 0.1, "it is lost", "log \x1b[31m& more", {"verdict": "lost"}),
    Case("g/test_a.py::test_dead", CRASHED, 0.1, "the process died", "Fatal"),
    Case("g/test_a.py::test_known", EXPECTED_FAILURE, 0.1, "known", "log", {"verdict": "garbage"}),
    Case("g/test_a.py::test_left", SKIPPED, 0.0, "no such op"),
)
OUTCOME = Outcome("g/test_a", "g", "title", ("pytorch#1",), ("addcmul_",), CASES, 1.0)
RUN = Run(Subject("torch.whl", FACTS, "cpu"), (OUTCOME,), 2.0)


def with_cases(*cases: Case, simulate: str = "") -> Run:
    return Run(Subject("torch.whl", FACTS, "cpu", simulate=simulate), (replace(OUTCOME, cases=cases),), 2.0)


def test_json_names_the_wheel_and_every_case() -> None:
    report = json.loads(report_json.render([RUN]))
    assert report["schema"] == "patchkit-test/1"
    (run,) = report["runs"]
    assert run["subject"]["wheel_sha256"] == "f" * 64
    assert (run["subject"]["forced_pre15"], run["executed"]) == (False, 4)
    assert [case["status"] for case in run["reproducers"][0]["cases"]] == [case.status for case in CASES]
    assert run["skipped"] == [{"reason": "no such op", "cases": 1}]


def test_junit_counts_and_survives_what_xml_cannot_hold() -> None:
    root = ElementTree.fromstring(report_junit.render(RUN).encode())
    assert {k: root.get(k) for k in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "1",
        "errors": "1",
        "skipped": "2",
    }
    assert [e.tag for case in root.iter("testcase") for e in case] == [
        "failure",
        "error",
        "skipped",
        "skipped",
    ]


def test_markdown_has_a_row_for_each_reproducer_and_the_logs_of_failures() -> None:
    text = report_markdown.render([RUN])
    assert "| g/test_a | crashed | 1 | 2 | 1 | 1 | lost, garbage |" in text
    assert "test_bad[&lt;x&gt;|y]" in text


def test_a_forced_run_says_so_everywhere() -> None:
    forced = Run(replace(RUN.subject, forced=True), RUN.outcomes, 1.0)
    assert "FORCED" in report_markdown.render([forced])
    assert "FORCED" in report_html.render([forced])
    assert json.loads(report_json.render([forced]))["runs"][0]["subject"]["forced_pre15"] is True
    assert 'name="forced_pre15" value="True"' in report_junit.render(forced)


def test_the_comparison_is_in_every_report() -> None:
    before, after = with_cases(Case("a", FAILED)), with_cases(Case("a", PASSED))
    changes = compare(before, after)
    assert json.loads(report_json.render([before, after], changes))["changes"][0]["verdict"] == "fixed"
    assert "| g/test_a | fixed | 1 | 0 | 0 |" in report_markdown.render([before, after], changes)
    assert '<td class="good">fixed</td>' in report_html.render([before, after], changes)


def test_the_matrix_is_in_every_report() -> None:
    clean = with_cases(Case("a", PASSED), Case("b", PASSED)).outcomes[0]
    faulty = with_cases(Case("a", FAILED), Case("b", PASSED)).outcomes[0]
    cells = [cell("g/test_a", "lost", clean, faulty)]
    assert json.loads(report_json.render([RUN], (), cells))["matrix"][0]["survivors"] == ["b"]
    assert "| g/test_a | 1/2 |" in report_markdown.render([RUN], (), cells)
    assert "survivor under lost: b" in report_html.render([RUN], (), cells)


def test_the_page_draws_the_loss_curves_of_both_runs() -> None:
    losses = {"losses": {"transposed encoder": [1.0, 0.5, 0.25]}}
    stuck = {"losses": {"transposed encoder": [1.0, 0.9, 0.9]}}
    runs = [
        with_cases(Case("a", PASSED, facts=losses)),
        with_cases(Case("a", FAILED, facts=stuck), simulate="lost"),
    ]
    curves = plot.loss_curves(runs)
    assert [curve.name for curve in curves] == ["transposed encoder", "transposed encoder, fault: lost"]
    picture = ElementTree.fromstring(plot.draw(curves, "a <title>"))
    assert len(picture.findall("{http://www.w3.org/2000/svg}polyline")) == 2
    assert "<polyline" in report_html.render(runs)


def test_a_lower_loss_is_drawn_lower() -> None:
    picture = ElementTree.fromstring(plot.draw([plot.Curve("c", (1.0, 0.1))], "t"))
    points = picture.findall("{http://www.w3.org/2000/svg}polyline")[0].get("points", "").split()
    heights = [float(point.split(",")[1]) for point in points]
    assert heights[0] < heights[1]


def test_curves_without_a_positive_loss_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="no positive loss"):
        plot.draw([plot.Curve("c", (float("nan"), 0.0))], "t")


def test_a_run_in_which_nothing_was_executed_is_refused_with_the_reason() -> None:
    with pytest.raises(NothingRanError, match="no such op") as caught:
        require_something_ran(with_cases(CASES[-1]))
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(("platform", "version"), [("linux", "2.6.0"), ("darwin", "2.4.1"), ("darwin", "2.15.0")])
def test_the_path_is_forced_only_where_that_can_work(
    monkeypatch: pytest.MonkeyPatch, platform: str, version: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    with pytest.raises(UsageError):
        check_forcible(version)


def test_every_page_of_the_suite_has_usable_metadata() -> None:
    pages = list_reproducers(reproducers_dir())
    assert {page.group for page in pages} == set(GROUPS)
    for page in pages:
        assert page.path.parent.name == page.group
        assert page.macos in ("all", "<15", ">=15"), page.name
        assert bool(page.faults) == (page.group in ("mps_outputs", "sweep")), page.name


def test_there_is_no_such_group() -> None:
    with pytest.raises(UsageError, match="there is no group nonsense"):
        list_reproducers(reproducers_dir(), ["nonsense"])


FINDING = {
    "rule": "MPS101", "effect": "lost", "macos": "<15", "file": "K.mm",
    "line": 7, "function": "thing_out_mps",
    "ops": ["no_page_has_this.out"], "triggers": ["out", "inplace"],
}  # fmt: skip


def write_report(path: Path, *findings: dict[str, object], schema: str = "patchkit-scan/1") -> Path:
    path.write_text(json.dumps({"schema": schema, "torch_version": "2.2.1", "findings": findings}))
    return path


def suite_for(tmp_path: Path, *findings: dict[str, object]) -> list[str]:
    suite = reproducers_dir()
    report = write_report(tmp_path / "scan.json", *findings)
    _, pages = generate.suite_for_findings(report, suite, list_reproducers(suite), tmp_path / "copy")
    return [page.name for page in pages]


def test_a_finding_that_a_page_covers_selects_the_page(tmp_path: Path) -> None:
    names = suite_for(tmp_path, {**FINDING, "ops": ["addcmul.out"]})
    assert names == [
        "mps_outputs/test_adam_story",
        "mps_outputs/test_addcmul",
        "autograd_mutation/test_gradients",
        "strides_storage/test_dispatch",
    ]


def test_any_other_finding_gets_a_page_of_the_same_shape(tmp_path: Path) -> None:
    assert suite_for(tmp_path, FINDING) == ["generated/test_thing_out_mps"]
    path = tmp_path / "copy" / "generated" / "test_thing_out_mps.py"
    page = read_reproducer(path, tmp_path / "copy")
    assert (page.ops, page.macos, page.group) == (("no_page_has_this.out",), "<15", "generated")
    text = path.read_text()
    ast.parse(text)
    assert "K.mm:7" in text
    assert "['out', 'inplace']" in text


def test_two_kernels_of_one_name_get_two_pages(tmp_path: Path) -> None:
    other = {**FINDING, "file": "L.mm"}
    assert suite_for(tmp_path, FINDING, other) == [
        "generated/test_thing_out_mps",
        "generated/test_thing_out_mps_2",
    ]


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "patchkit-scan/1"}', '{"schema": "other/1"}'])
def test_a_file_that_is_no_scan_report_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "scan.json"
    path.write_text(text)
    with pytest.raises(InputError, match="scan"):
        generate.read_findings(path)
