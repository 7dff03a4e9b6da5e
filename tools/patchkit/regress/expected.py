"""Which results are expected, from data: the pages' own metadata and the suite's ``expected.json``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from patchkit.errors import InputError
from patchkit.regress.reproducers import Reproducer
from patchkit.regress.results import (
    EXPECTED_FAILURE,
    FAILED,
    PASSED,
    SKIPPED,
    UNEXPECTED_PASS,
    Case,
    Outcome,
    Subject,
)

OFFICIAL_LABELS = re.compile(r"(cpu|cu\d+|rocm.*|xpu)?")
FORCED_MACOS = "14"


@dataclass(frozen=True)
class KnownFailure:
    """Cases that fail in a release.

    Args:
        cases: node id in which ``*`` stands for any text.
        torch: version specifier.
        device: the device it was seen on.
        why: the defect in one sentence.
    """

    cases: str
    torch: str
    device: str
    why: str

    def matches(self, case: str) -> bool:
        """Whether the rule is about the case of this node id."""
        return re.fullmatch(".*".join(re.escape(part) for part in self.cases.split("*")), case) is not None


def read_known_failures(suite: Path) -> tuple[KnownFailure, ...]:
    """Return the rules of ``expected.json``.

    Raises:
        InputError: the file is not valid.
    """
    path = suite / "expected.json"
    try:
        rules = json.loads(path.read_text(encoding="utf-8"))["failures"]
        return tuple(
            KnownFailure(cases, rule["torch"], rule["device"], rule["why"]) for rule in rules for cases in rule["cases"]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not usable: {error!r}.") from error


def is_official(version: str) -> bool:
    """Whether the version has no local label, or one that official builds have: a patched wheel has its
    own."""
    return OFFICIAL_LABELS.fullmatch(version.partition("+")[2]) is not None


def _in_range(version: str, specifier: str) -> bool:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    return SpecifierSet(specifier, prereleases=True).contains(Version(Version(version).base_version))


def backend_is_broken(reproducer: Reproducer, subject: Subject) -> bool:
    """Whether the metadata says that this official release's MPS backend fails the page on this macOS."""
    version = str(subject.facts["torch"])
    if subject.device != "mps" or reproducer.broken in ("never", "unknown") or not is_official(version):
        return False
    macos = FORCED_MACOS if subject.forced else str(subject.facts.get("macos", ""))
    return _in_range(version, reproducer.broken) and (
        reproducer.macos == "all" or (macos != "" and _in_range(macos, reproducer.macos))
    )


def judge(reproducer: Reproducer, outcome: Outcome, subject: Subject, known: Iterable[KnownFailure]) -> Outcome:
    """Turn failures that are expected into expected failures, and what passes against expectation into an
    error.

    A page whose backend is known to be broken has to fail in at least one case that is not a control. A known
    failure of ``expected.json`` has to fail in every case that it names and that ran.
    """
    version = str(subject.facts["torch"])
    rules = [rule for rule in known if rule.device == subject.device and is_official(version)]
    rules = [rule for rule in rules if _in_range(version, rule.torch)]
    cases = [_by_rule(case, rules) for case in outcome.cases]
    if backend_is_broken(reproducer, subject):
        cases = _by_page(cases, reproducer)
    return replace(outcome, cases=tuple(cases))


def _by_rule(case: Case, rules: list[KnownFailure]) -> Case:
    for rule in rules:
        if rule.matches(case.name) and case.status != SKIPPED:
            if case.status == PASSED:
                message = f"passes, but is expected to fail: {rule.why}"
                return replace(case, status=UNEXPECTED_PASS, message=message)
            if case.status == FAILED:
                return replace(case, status=EXPECTED_FAILURE)
    return case


def _by_page(cases: list[Case], reproducer: Reproducer) -> list[Case]:
    telling = [case for case in cases if not case.control and case.status in (PASSED, FAILED)]
    why = f"torch {reproducer.broken} is expected to fail here ({', '.join(reproducer.references)})"
    if telling and all(case.status == PASSED for case in telling):
        return [
            replace(case, status=UNEXPECTED_PASS, message=f"passes, but {why}") if case in telling else case
            for case in cases
        ]
    return [
        replace(case, status=EXPECTED_FAILURE) if case in telling and case.status == FAILED else case for case in cases
    ]
