"""How serious a finding is, in the three steps that code scanning and annotations know."""

from __future__ import annotations

from patchkit.scan.findings import Finding

# Wrong data without any error is an error; strides that change, with the data right, are not.
_MILD = frozenset({"restrided"})
_STEPS = ("note", "warning", "error")
_BY_CONFIDENCE = {"high": 2, "medium": 1, "low": 0}


def level(finding: Finding) -> str:
    """Return ``error``, ``warning`` or ``note``, by the finding's confidence; at most a warning for a mild effect."""
    step = _BY_CONFIDENCE.get(finding.confidence, 0)
    return _STEPS[min(step, 1) if finding.effect in _MILD else step]


def one_line(text: str) -> str:
    """Return source text without its line breaks."""
    return " ".join(text.split())
