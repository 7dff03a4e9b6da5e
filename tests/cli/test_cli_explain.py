"""``patchkit explain``, and the kernels that each rule carries."""

from __future__ import annotations

import json
import shutil

import pytest

from patchkit.cli import run
from patchkit.demo import demo_tree_path
from patchkit.scan import scan_tree
from patchkit.scan.rules import all_rules, split_marks
from patchkit.source.tree import MPS_FOLDER, NATIVE_FUNCTIONS, open_tree

RULES = all_rules()
by_id = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)


@pytest.fixture
def scan_kernel(tmp_path):
    """Scan one kernel file in a tree that has what every kernel needs, and nothing else."""

    def scan(source: str, native_functions: str):
        shutil.copytree(demo_tree_path(), tmp_path / "tree")
        operations = tmp_path / "tree" / MPS_FOLDER / "operations"
        shutil.rmtree(operations)
        operations.mkdir()
        (operations / "Kernel.mm").write_text(source)
        (tmp_path / "tree" / NATIVE_FUNCTIONS).write_text(native_functions)
        return scan_tree(open_tree(tmp_path / "tree"))

    return scan


@by_id
def test_the_failing_kernel_is_flagged_where_it_is_marked_and_nowhere_else(rule, scan_kernel):
    source, marks = split_marks(rule)
    report = scan_kernel(source, rule.native_functions)
    found = [finding for finding in report.findings if finding.rule == rule.id]
    assert report.findings == tuple(found)
    assert marks
    assert len(found) == len(marks)
    for finding, mark in zip(sorted(found, key=lambda finding: finding.line), marks, strict=True):
        assert finding.line <= mark.line <= finding.end_line
        assert finding.tensor == mark.tensor
        assert finding.effect == rule.effect


@by_id
def test_the_passing_kernel_is_cleared(rule, scan_kernel):
    report = scan_kernel(rule.passing, rule.native_functions)
    assert report.findings == ()
    assert report.undecided == ()
    assert report.cleared


@by_id
def test_the_page_has_all_parts_in_order(rule, capsys):
    assert run(["explain", rule.id]) == 0
    shown = capsys.readouterr().out
    parts = [
        rule.id,
        "Why it matters",
        f"A kernel that {rule.id} flags",
        "The same kernel, correct",
        "The fix",
    ]
    places = [shown.index(part) for part in [*parts, "Upstream"]]
    assert places == sorted(places)
    assert "https://github.com/pytorch/pytorch/pull/" in shown


@by_id
def test_the_flagged_line_is_underlined_and_the_mark_is_gone(rule, capsys):
    run(["explain", rule.id])
    lines = capsys.readouterr().out.splitlines()
    mark = split_marks(rule)[1][0]
    carets = next(number for number, line in enumerate(lines) if "^" in line)
    code = lines[carets - 1]
    assert code.split("|")[0].strip() == str(mark.line)
    assert code[lines[carets].index("^") :].startswith(mark.tensor)
    assert not any("expect:" in line for line in lines)


@by_id
def test_added_lines_of_the_correct_kernel_are_marked(rule, capsys):
    run(["explain", rule.id])
    shown = capsys.readouterr().out
    added = [line.split(" + ", 1)[1].strip() for line in shown.splitlines() if line[2:5] == " + "]
    assert added
    assert all(line in rule.passing for line in added)


def test_without_a_rule_all_are_listed(capsys):
    assert run(["explain"]) == 0
    shown = capsys.readouterr().out
    assert all(rule.id in shown and rule.name in shown for rule in RULES)


@pytest.mark.parametrize("spelling", ["mps101", "lost-output", "LOST"])
def test_a_rule_is_found_by_identifier_name_and_effect_in_any_case(capsys, spelling):
    assert run(["explain", spelling]) == 0
    assert capsys.readouterr().out.startswith("MPS101 lost-output")


def test_an_unknown_rule_suggests_the_nearest(capsys):
    assert run(["explain", "mps110"]) == 2
    assert "did you mean MPS10" in capsys.readouterr().err


def test_a_word_like_no_rule_gets_the_list(capsys):
    assert run(["explain", "zzz"]) == 2
    assert "MPS101" in capsys.readouterr().err


def test_json_holds_every_rule_with_its_kernels(capsys):
    assert run(["explain", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == "patchkit-rules/1"
    assert [rule["id"] for rule in data["rules"]] == [rule.id for rule in RULES]
    assert all(rule["failing_lines"] and "expect:" not in rule["failing"] for rule in data["rules"])


def test_identifiers_and_names_are_unique():
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)
