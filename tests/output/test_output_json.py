"""The JSON contract ``patchkit-scan/1`` of the design: its keys, and nothing but one object."""

from __future__ import annotations

import json
from pathlib import Path

from patchkit.output import Look, render
from patchkit.scan.findings import Cleared, Finding, ScanReport, TraceStep, Undecided
from patchkit.source.tree import Tree

FINDING = Finding(
    rule="MPS101",
    effect="lost",
    layouts=("strided", "offset"),
    macos="<15",
    file="aten/src/ATen/native/mps/operations/Caf\u00e9.mm",
    line=3,
    column=7,
    end_line=4,
    function="kernel_out",
    tensor="output",
    ops=("addcmul.out",),
    triggers=("out",),
    confidence="high",
    message="the result is lost",
    trace=(TraceStep(3, "here"),),
    fixable=False,
    fingerprint="abc",
    not_fixable_because="because",
)
REPORT = ScanReport(
    torch_version="2.6.0",
    root="pytorch",
    files=61,
    sites=154,
    seconds=0.9,
    findings=(FINDING,),
    cleared=(Cleared("a.mm", 1, "f", "t", "copy_back"),),
    undecided=(Undecided("a.mm", 2, "g", "t", "why"),),
)
TREE = Tree(Path(), "2.6.0", "pytorch")
REPORT_KEYS = [
    "schema",
    "torch_version",
    "root",
    "files",
    "sites",
    "seconds",
    "writes",
    "findings",
    "cleared",
    "undecided",
    "set_aside",
    "notices",
]
FINDING_KEYS = [
    "rule",
    "effect",
    "layouts",
    "macos",
    "file",
    "line",
    "column",
    "end_line",
    "function",
    "tensor",
    "ops",
    "triggers",
    "confidence",
    "message",
    "trace",
    "fixable",
    "fingerprint",
]


def rendered() -> str:
    return render(REPORT, TREE, Look(), format_name="json")


def test_the_report_has_the_keys_of_the_contract_in_its_order():
    data = json.loads(rendered())
    assert [key for key in data if key in REPORT_KEYS] == REPORT_KEYS
    assert data["schema"] == "patchkit-scan/1"
    assert (data["files"], data["sites"], data["torch_version"]) == (61, 154, "2.6.0")


def test_a_finding_has_the_keys_and_values_of_the_contract():
    finding = json.loads(rendered())["findings"][0]
    assert [key for key in finding if key in FINDING_KEYS] == FINDING_KEYS
    assert finding["layouts"] == ["strided", "offset"]
    assert finding["trace"][0]["line"] == 3
    assert finding["trace"][0]["text"] == "here"
    assert finding["fixable"] is False
    assert finding["file"] == FINDING.file


def test_cleared_and_undecided_sites_say_why():
    data = json.loads(rendered())
    assert data["cleared"][0].items() >= {"file": "a.mm", "line": 1, "reason": "copy_back"}.items()
    assert data["undecided"][0].items() >= {"file": "a.mm", "line": 2, "why": "why"}.items()


def test_the_text_is_ascii_and_ends_in_one_newline():
    text = rendered()
    assert text.isascii()
    assert text.endswith("}\n")
    assert not text.endswith("\n\n")
