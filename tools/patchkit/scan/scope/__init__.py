"""What of a scan is reported: suppressions, selected rules, operators and systems, a baseline, a change.

Each step moves findings from ``findings`` to ``set_aside``, with the reason; none is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from patchkit.scan.findings import Finding, ScanReport, SetAside

__all__ = ["set_aside"]


def set_aside(report: ScanReport, reason: Callable[[Finding], str]) -> ScanReport:
    """Return ``report`` with the findings moved aside for which ``reason`` returns one (``rule``, ``op`` ...)."""
    kept: list[Finding] = []
    moved: list[SetAside] = []
    for finding in report.findings:
        because = reason(finding)
        if because:
            moved.append(SetAside(finding, because))
        else:
            kept.append(finding)
    return replace(report, findings=tuple(kept), set_aside=(*report.set_aside, *moved))
