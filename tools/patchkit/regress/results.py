"""What a test run found: plain data, in the shape of the JSON contract ``patchkit-test/1``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA = "patchkit-test/1"

PASSED = "passed"
FAILED = "failed"
SKIPPED = "skipped"
CRASHED = "crashed"
TIMEOUT = "timeout"
ERROR = "error"
EXPECTED_FAILURE = "expected failure"
UNEXPECTED_PASS = "unexpected pass"

EXECUTED = (PASSED, FAILED, CRASHED, TIMEOUT, EXPECTED_FAILURE, UNEXPECTED_PASS)
BROKEN = (FAILED, CRASHED, TIMEOUT, ERROR, EXPECTED_FAILURE)
BAD = (FAILED, CRASHED, TIMEOUT, ERROR, UNEXPECTED_PASS)


@dataclass(frozen=True)
class Case:
    """One test of a reproducer.

    Args:
        name: pytest's node id, relative to the suite.
        status: one of this module's statuses.
        seconds: wall time of the call.
        message: one line on a failure, or a skip's reason.
        log: traceback or the process's last output.
        facts: what the test recorded, such as ``verdict``.
        control: has to pass with a faulty backend too.
        survives: for each simulated fault that cannot be seen here, why.
    """

    name: str
    status: str
    seconds: float = 0.0
    message: str = ""
    log: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    control: bool = False
    survives: Mapping[str, str] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """What became of the output: ``ok``, ``lost``, ``misplaced``, ``garbage``, ``restrided``, or
        empty."""
        return str(self.facts.get("verdict", ""))


@dataclass(frozen=True)
class Outcome:
    """All that one reproducer did in one run."""

    reproducer: str
    group: str
    title: str
    references: tuple[str, ...]
    ops: tuple[str, ...]
    cases: tuple[Case, ...]
    seconds: float

    def count(self, *statuses: str) -> int:
        """Return how many cases ended in one of the statuses."""
        return sum(case.status in statuses for case in self.cases)

    @property
    def status(self) -> str:
        """The worst that happened: a bad status, else expected failure, passed, or skipped."""
        for status in (ERROR, CRASHED, TIMEOUT, FAILED, UNEXPECTED_PASS, EXPECTED_FAILURE, PASSED):
            if self.count(status):
                return status
        return SKIPPED

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The distinct verdicts of the cases that are not ok, most frequent first."""
        found = Counter(case.verdict for case in self.cases if case.status in BROKEN and case.verdict)
        return tuple(verdict for verdict, _ in found.most_common())


@dataclass(frozen=True)
class Subject:
    """What was tested: the wheel and the machine.

    Args:
        label: how reports name it, such as the wheel's file name.
        facts: ``torch``, ``git_version``, ``numpy``, ``python``, ``os``, ``macos``, ``chip``,
            ``wheel_sha256``.
        device: ``cpu``, ``cuda`` or ``mps``.
        forced: whether the macOS < 15 path was forced.
        simulate: the simulated fault, or empty.
    """

    label: str
    facts: Mapping[str, Any]
    device: str
    forced: bool = False
    simulate: str = ""


@dataclass(frozen=True)
class Run:
    """One run of the suite over one subject; ``stopped`` says why it ended early, if it did."""

    subject: Subject
    outcomes: tuple[Outcome, ...]
    seconds: float
    stopped: str = ""

    def count(self, *statuses: str) -> int:
        """Return how many cases of the run ended in one of the statuses."""
        return sum(outcome.count(*statuses) for outcome in self.outcomes)

    @property
    def executed(self) -> int:
        """How many cases ran to a verdict, skipped ones left out."""
        return self.count(*EXECUTED)

    @property
    def skip_reasons(self) -> tuple[tuple[str, int], ...]:
        """Why cases were skipped, most frequent first."""
        reasons = Counter(c.message for o in self.outcomes for c in o.cases if c.status == SKIPPED)
        return tuple(reasons.most_common())
