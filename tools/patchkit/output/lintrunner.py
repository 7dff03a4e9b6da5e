"""The ``lintrunner`` format: one JSON object a line, as lintrunner takes from an adapter.

The keys are those of lintrunner's ``LintMessage``. ``replacement`` holds a whole file, so one message of a file
carries the edit that repairs all its findings.
"""

from __future__ import annotations

import json

from patchkit.output import Edit, Look
from patchkit.output._severity import level
from patchkit.scan.findings import Finding, ScanReport
from patchkit.source.tree import Tree

CODE = "PATCHKIT"
_SEVERITY = {"error": "error", "warning": "warning", "note": "advice"}


def render(report: ScanReport, tree: Tree, look: Look) -> str:
    """Return one line for each finding, undecided site and notice; nothing at all for a clean tree."""
    reported = {finding.fingerprint for finding in report.findings}
    carried: set[str] = set()
    lines = []
    for finding in report.findings:
        edit = look.edits.get(finding.file)
        cured = edit is not None and finding.fingerprint in edit.fingerprints
        # an edit that would also change what the user set aside is not offered
        offered = edit if cured and edit is not None and edit.fingerprints <= reported else None
        first = offered is not None and finding.file not in carried
        if first:
            carried.add(finding.file)
        lines.append(_finding(finding, tree, offered, first=first))
    for site in report.undecided:
        lines.append(_message(tree, site.file, site.line, "advice", "undecided", site.why))
    for note in report.notices:
        lines.append(_message(tree, note.file, note.line, "warning", "notice", note.text))
    return "".join(f"{line}\n" for line in lines)


def _finding(finding: Finding, tree: Tree, edit: Edit | None, *, first: bool) -> str:
    said = [
        finding.message,
        f"Layouts: {', '.join(finding.layouts)}; macOS: {finding.macos}; "
        f"reached by {', '.join(finding.ops) or 'no operator of native_functions.yaml'}.",
        _about_edit(edit, first=first),
        f"See `patchkit explain {finding.rule}`.",
    ]
    return _message(
        tree,
        finding.file,
        finding.line,
        _SEVERITY[level(finding)],
        f"{finding.rule} {finding.effect}",
        "\n".join(said),
        char=finding.column,
        edit=edit if first else None,
    )


def _about_edit(edit: Edit | None, *, first: bool) -> str:
    if edit is None:
        return "No verified edit is at hand for this one; `patchkit fix` says what it can do and why."
    number = len(edit.fingerprints)
    which = "this finding" if number == 1 else f"all {number} findings of the file that can be fixed"
    return f"The replacement cures {which}." if first else "The replacement of this file cures it too."


def _message(
    tree: Tree,
    file: str,
    line: int,
    severity: str,
    name: str,
    description: str,
    *,
    char: int | None = None,
    edit: Edit | None = None,
) -> str:
    return json.dumps(
        {
            "path": str(tree.root / file) if file else None,
            "line": line or None,
            "char": char,
            "code": CODE,
            "severity": severity,
            "name": name,
            "original": edit.before if edit else None,
            "replacement": edit.after if edit else None,
            "description": description,
        }
    )
