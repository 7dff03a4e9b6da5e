"""The ``sarif`` format: SARIF 2.1.0 (OASIS, errata 01) with what GitHub code scanning asks for.

See "SARIF support for code scanning" in GitHub's documentation: rules with help, relative URIs, and
``partialFingerprints``, of which code scanning reads ``primaryLocationLineHash``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from patchkit import __version__
from patchkit.output import Look
from patchkit.output._severity import level, one_line
from patchkit.scan.findings import Finding, ScanReport, TraceStep
from patchkit.scan.rules import Rule, all_rules, split_marks
from patchkit.source.tree import Tree

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
UPSTREAM = "https://github.com/pytorch/pytorch"
TAGS = ("correctness", "mps", "silent-data-loss")

Json = dict[str, Any]
Lines = Callable[[str], Sequence[bytes]]


def render(report: ScanReport, tree: Tree, look: Look) -> str:
    """Return ``report`` as one SARIF log; the URIs are relative to the repository that ``look`` names."""
    rules = _rules(report)
    places = {rule["id"]: place for place, rule in enumerate(rules)}
    lines = _reader(tree.root)
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "patchkit", "version": __version__, "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "invocations": [_invocation(report, look)],
                "results": [_result(finding, places[finding.rule], look, lines) for finding in report.findings],
                "properties": {
                    "torchVersion": report.torch_version,
                    "files": report.files,
                    "sites": report.sites,
                    "cleared": len(report.cleared),
                    "undecided": len(report.undecided),
                },
            }
        ],
    }
    return json.dumps(log, indent=2) + "\n"


def _rules(report: ScanReport) -> list[Json]:
    described = [_rule(rule) for rule in all_rules()]
    known = {rule["id"] for rule in described}
    for finding in report.findings:
        if finding.rule not in known:
            known.add(finding.rule)
            text = f"The output of an MPS kernel is {finding.effect}."
            described.append(
                {
                    "id": finding.rule,
                    "shortDescription": {"text": text},
                    "fullDescription": {"text": text},
                    "help": {"text": text, "markdown": text},
                    "properties": {"tags": list(TAGS)},
                }
            )
    return sorted(described, key=lambda rule: str(rule["id"]))


def _rule(rule: Rule) -> Json:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": one_line(rule.why.split("\n\n")[0])},
        "defaultConfiguration": {"level": "error"},
        "help": {"text": f"{rule.why.strip()}\n\n{rule.fix.strip()}", "markdown": rule_markdown(rule)},
        "properties": {"tags": [*TAGS, rule.effect], "precision": "high", "problem.severity": "error"},
    }


def rule_markdown(rule: Rule) -> str:
    """Return the description of a rule as Markdown: why, a flagged and a correct kernel, the fix, references."""
    references = []
    for reference in rule.references:
        head, _, what = reference.partition(": ")
        kind, _, number = head.partition(" ")
        if kind in ("PR", "issue") and number.isdigit():
            folder = "pull" if kind == "PR" else "issues"
            references.append(f"- [{head}]({UPSTREAM}/{folder}/{number}) {what}")
        else:
            references.append(f"- `{head}` {what}")
    parts = [
        f"# {rule.id} {rule.name}",
        rule.summary,
        "## Why it matters",
        _unwrapped(rule.why),
        "## The fix",
        _unwrapped(rule.fix),
        f"## A kernel that {rule.id} flags",
        f"```objective-c++\n{split_marks(rule)[0].rstrip()}\n```",
        "## The same kernel, correct",
        f"```objective-c++\n{rule.passing.rstrip()}\n```",
        "## Upstream",
        "\n".join(references),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _unwrapped(text: str) -> str:
    return "\n\n".join(one_line(paragraph) for paragraph in text.strip().split("\n\n"))


def _result(finding: Finding, rule: int, look: Look, lines: Lines) -> Json:
    steps = [_step(step, finding, look, lines) for step in finding.trace]
    result: Json = {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": level(finding),
        "message": {"text": _message(finding)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _artifact(finding.file, look),
                    "region": _region(finding, lines(finding.file)),
                },
                "logicalLocations": [{"name": finding.function, "kind": "function"}],
            }
        ],
        "partialFingerprints": {
            "primaryLocationLineHash": f"{finding.fingerprint}:1",
            "patchkit/v1": finding.fingerprint,
        },
        "properties": {
            "effect": finding.effect,
            "layouts": list(finding.layouts),
            "macos": finding.macos,
            "ops": list(finding.ops),
            "triggers": list(finding.triggers),
            "confidence": finding.confidence,
            "function": finding.function,
            "tensor": finding.tensor,
            "fixable": finding.fixable,
        },
    }
    if steps:
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    return result


def _message(finding: Finding) -> str:
    text = finding.message
    reached = ", ".join(finding.ops[:6]) + (f" and {len(finding.ops) - 6} more" if len(finding.ops) > 6 else "")
    text = text[:1].upper() + text[1:].rstrip(".") + "."
    return f"{text} Reached by {reached}." if reached else text


def _step(step: TraceStep, finding: Finding, look: Look, lines: Lines) -> Json:
    file = step.file or finding.file
    location: Json = {
        "physicalLocation": {
            "artifactLocation": _artifact(file, look),
            "region": {"startLine": max(1, step.line)},
        },
        "message": {"text": step.text},
    }
    source = lines(file)
    if 1 <= step.line <= len(source):
        code = source[step.line - 1].decode("utf-8", "replace").strip()
        location["physicalLocation"]["region"]["snippet"] = {"text": code}
    return {"location": location}


def _region(finding: Finding, source: Sequence[bytes]) -> Json:
    """Line and columns of the tensor expression, 1-based; columns count characters, a finding's count bytes."""
    start = max(1, finding.line)
    region: Json = {"startLine": start, "endLine": max(start, finding.end_line)}
    if not 1 <= start <= len(source):
        return region
    column = len(source[start - 1][: max(0, finding.column - 1)].decode("utf-8", "replace")) + 1
    region["startColumn"] = column
    parts = finding.tensor.split("\n")
    if region["endLine"] == start + len(parts) - 1 and finding.tensor:
        region["endColumn"] = len(parts[-1]) + (column if len(parts) == 1 else 1)
    else:
        del region["endLine"]
    return region


def _artifact(file: str, look: Look) -> Json:
    return {"uri": quote(look.path(file)), "uriBaseId": ROOT}


def _invocation(report: ScanReport, look: Look) -> Json:
    notes = [
        _notification("warning", f"{one.function or one.file}: {one.why}", one.file, one.line, look)
        for one in report.undecided
    ]
    notes += [_notification("warning", one.text, one.file, one.line, look) for one in report.notices]
    invocation: Json = {"executionSuccessful": True}
    if notes:
        invocation["toolExecutionNotifications"] = notes
    return invocation


def _notification(severity: str, text: str, file: str, line: int, look: Look) -> Json:
    note: Json = {"level": severity, "message": {"text": text}}
    if file and line:
        place = {"artifactLocation": _artifact(file, look), "region": {"startLine": line}}
        note["locations"] = [{"physicalLocation": place}]
    return note


def _reader(root: Path) -> Lines:
    @cache
    def lines(file: str) -> Sequence[bytes]:
        try:
            return (root / file).read_bytes().split(b"\n")
        except OSError:
            return ()

    return lines
