"""The ``github`` format: workflow commands that GitHub Actions shows as annotations on the changed lines.

See "Workflow commands for GitHub Actions". A step shows ten annotations of each level; the surest come first, and
the log holds all of them.
"""

from __future__ import annotations

from patchkit.output import Look
from patchkit.output._severity import level
from patchkit.output._terminal import count_of
from patchkit.scan.findings import Finding, ScanReport
from patchkit.source.tree import Tree

_COMMAND = {"error": "error", "warning": "warning", "note": "notice"}
_ORDER = ("error", "warning", "note")


def render(report: ScanReport, tree: Tree, look: Look) -> str:
    """Return one annotation for each finding, undecided site and notice, and a last line that counts them."""
    findings = sorted(report.findings, key=lambda one: (_ORDER.index(level(one)), one.file, one.line))
    lines = [_annotation(finding, look) for finding in findings]
    for site in report.undecided:
        lines.append(_command("notice", site.why, look.path(site.file), site.line, title="patchkit: undecided"))
    for note in report.notices:
        lines.append(_command("warning", note.text, look.path(note.file), note.line, title="patchkit"))
    lines.append(
        f"patchkit: {count_of(len(report.findings), 'finding')}, {len(report.cleared)} cleared, "
        f"{len(report.undecided)} undecided in {count_of(report.files, 'file')} (torch {report.torch_version})"
    )
    return "\n".join(lines) + "\n"


def _annotation(finding: Finding, look: Look) -> str:
    ops = ", ".join(finding.ops) or "no operator of native_functions.yaml"
    text = (
        f"{finding.message}\n\nLayouts: {', '.join(finding.layouts)}; macOS: {finding.macos}; reached by {ops}.\n"
        f"patchkit explain {finding.rule}"
    )
    title = f"{finding.rule} {finding.effect}: {finding.function}"
    command = _COMMAND[level(finding)]
    return _command(command, text, look.path(finding.file), finding.line, title=title, last=finding)


def _command(name: str, text: str, file: str, line: int, *, title: str, last: Finding | None = None) -> str:
    properties = {"file": file, "line": str(max(1, line))}
    if last is not None:
        properties["endLine"] = str(max(line, last.end_line))
        # GitHub takes a column only where the annotation is about a single line
        if last.end_line <= line:
            properties["col"] = str(max(1, last.column))
    properties["title"] = title
    written = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {written}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
