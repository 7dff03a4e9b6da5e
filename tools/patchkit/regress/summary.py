"""The sentences every report shares: what was tested, and how it went."""

from __future__ import annotations

from patchkit.regress.results import (
    BAD,
    EXPECTED_FAILURE,
    PASSED,
    SKIPPED,
    Run,
    Subject,
)


def subject_line(subject: Subject) -> str:
    """Return one line on the wheel, the machine and how the backend was made to behave."""
    facts = subject.facts
    parts = [
        f"{subject.label}: torch {facts['torch']} ({str(facts['git_version'])[:12]})",
        f"numpy {facts['numpy']}",
        f"Python {facts['python']}",
        f"device {subject.device}",
        str(facts["chip"]),
        f"macOS {facts['macos']}" if facts.get("macos") else str(facts["os"]),
    ]
    if facts.get("wheel_sha256"):
        parts.append(f"wheel sha256 {facts['wheel_sha256']}")
    if subject.forced:
        parts.append("FORCED onto the macOS < 15 path")
    if subject.simulate:
        parts.append(f"SIMULATED fault: {subject.simulate}")
    return ", ".join(parts)


def headline(run: Run) -> str:
    """Return the counts of a run in one line."""
    counts = [(run.count(PASSED), "passed"), (run.count(*BAD), "failed")]
    counts += [(run.count(EXPECTED_FAILURE), "failed as expected"), (run.count(SKIPPED), "skipped")]
    text = ", ".join(f"{number} {word}" for number, word in counts if number or word in ("passed", "failed"))
    text += f" in {run.seconds:.0f} s ({len(run.outcomes)} reproducers)"
    return f"{text}; stopped early: {run.stopped}" if run.stopped else text
