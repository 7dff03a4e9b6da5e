"""A baseline: findings that are known and accepted for now, kept in a file by fingerprint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from patchkit.errors import InputError
from patchkit.scan.findings import Finding, Notice, ScanReport
from patchkit.scan.scope import set_aside

SCHEMA = "patchkit-baseline/1"


def baseline_text(findings: Sequence[Finding]) -> str:
    """Return a baseline of ``findings`` as JSON, sorted, one finding a line, so that a change of it can be reviewed."""
    rows = sorted({(f.file, f.function, f.tensor, f.rule, f.fingerprint) for f in findings})
    entries = [
        json.dumps({"fingerprint": fingerprint, "rule": rule, "file": file, "function": function, "tensor": tensor})
        for file, function, tensor, rule, fingerprint in rows
    ]
    listed = ",\n".join(f"    {entry}" for entry in entries)
    body = f"[\n{listed}\n  ]" if entries else "[]"
    return f'{{\n  "schema": "{SCHEMA}",\n  "findings": {body}\n}}\n'


def read_baseline(path: Path) -> dict[str, str]:
    """Return, for each fingerprint of the baseline at ``path``, what it is about in words.

    Raises:
        InputError: the file cannot be read or is no baseline.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"the baseline {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise InputError(f"{path} is no baseline: it is not JSON; make one with --write-baseline.") from error
    try:
        if data["schema"] != SCHEMA:
            raise ValueError
        return {
            str(one["fingerprint"]): f"{one['rule']} {one['function']} `{one['tensor']}` in {one['file']}"
            for one in data["findings"]
        }
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is no {SCHEMA} file; make one with --write-baseline.") from error


def apply_baseline(report: ScanReport, path: Path) -> ScanReport:
    """Set aside the findings that the baseline at ``path`` lists; a notice counts those it lists and the tree lacks.

    Raises:
        InputError: as :func:`read_baseline`.
    """
    known = read_baseline(path)
    present = {one.fingerprint for one in (*report.findings, *(moved.finding for moved in report.set_aside))}
    gone = [text for fingerprint, text in known.items() if fingerprint not in present]
    report = set_aside(report, lambda finding: "baseline" if finding.fingerprint in known else "")
    if not gone:
        return report
    count = f"{len(gone)} findings that are gone" if len(gone) > 1 else "a finding that is gone"
    more = f" and {len(gone) - 3} more" if len(gone) > 3 else ""
    text = f"the baseline lists {count} ({', '.join(gone[:3])}{more}); write it again with --write-baseline."
    return replace(report, notices=(*report.notices, Notice(str(path), 0, text)))
