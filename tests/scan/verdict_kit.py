"""Verdicts made by reading the source, and how a scan compares with them.

The facts are in ``verdicts/<release>.json``. A difference between a fact and the scan that is known and explained
stands in ``verdicts/known.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchkit.scan.findings import Finding, ScanReport

VERDICTS = Path(__file__).parent / "verdicts"
LAYOUTS = ("strided", "channels_last", "offset")


@dataclass(frozen=True)
class Fact:
    """What happens at one graph result, as read from the source."""

    file: str
    line: int
    function: str
    tensor: str
    effect: str
    hit: frozenset[str]
    macos: str | None
    triggers: frozenset[str]
    ops: frozenset[str]
    ambiguous: bool
    why: str

    @property
    def place(self) -> tuple[str, int, str]:
        return self.file, self.line, "".join(self.tensor.split())


@dataclass(frozen=True)
class Difference:
    """One field in which the scan says something else than the fact."""

    version: str
    file: str
    line: int
    function: str
    tensor: str
    field: str
    fact: str
    scan: str

    def __str__(self) -> str:
        return (
            f"{self.version} {self.file.rpartition('/')[2]}:{self.line} {self.function} `{self.tensor}`: "
            f"{self.field} {self.scan}, read as {self.fact}"
        )


@dataclass(frozen=True)
class Outcome:
    """What the scan says of one graph result: the list it is in, and the finding if it is one."""

    list: str
    function: str
    finding: Finding | None

    @property
    def effect(self) -> str:
        return self.finding.effect if self.finding else {"cleared": "safe"}.get(self.list, self.list)

    @property
    def hit(self) -> frozenset[str]:
        return frozenset(self.finding.layouts) if self.finding else frozenset()


def load_facts(version: str) -> list[Fact]:
    """Return the verdicts of a release."""
    read = json.loads((VERDICTS / f"{version}.json").read_text(encoding="utf-8"))
    return [_fact(read["root"], site) for site in read["sites"]]


def _fact(root: str, site: dict[str, Any]) -> Fact:
    return Fact(
        file=root + site["file"],
        line=site["line"],
        function=site["function"],
        tensor=site["tensor"],
        effect=site["effect"],
        hit=frozenset(layout for layout in LAYOUTS if site[layout] != "safe"),
        macos=site["macos"],
        triggers=frozenset(site["triggers"]),
        ops=frozenset(site["ops"]),
        ambiguous=site["ambiguous"],
        why=site["why"],
    )


def load_known() -> dict[Difference, str]:
    """Return the differences that are known, each with its explanation."""
    read = json.loads((VERDICTS / "known.json").read_text(encoding="utf-8"))
    return {Difference(**{k: v for k, v in entry.items() if k != "why"}): entry["why"] for entry in read}


def outcomes(report: ScanReport) -> dict[tuple[str, int, str], Outcome]:
    """Return what a report says of each graph result, by place; a place is (file, line, tensor)."""
    found: dict[tuple[str, int, str], Outcome] = {}
    for name in ("findings", "cleared", "undecided"):
        for entry in getattr(report, name):
            place = (entry.file, entry.line, "".join(entry.tensor.split()))
            found[place] = Outcome(name, entry.function, entry if name == "findings" else None)
    return found


def differences(version: str, facts: Iterable[Fact], report: ScanReport) -> list[Difference]:
    """Return every field in which a report differs from the facts, in the order of the facts."""
    found = outcomes(report)
    out: list[Difference] = []
    for fact in facts:
        outcome = found.get(fact.place)
        if outcome is None:
            out.append(_difference(version, fact, "site", "present", "missing"))
            continue
        pairs = [("effect", fact.effect, outcome.effect), ("layouts", _names(fact.hit), _names(outcome.hit))]
        if fact.effect != "safe" and (finding := outcome.finding):
            pairs.append(("triggers", _names(fact.triggers), _names(finding.triggers)))
            pairs.append(("macos", fact.macos or "", finding.macos))
        out.extend(_difference(version, fact, field, a, b) for field, a, b in pairs if a != b)
    return out


def _difference(version: str, fact: Fact, field: str, read: str, scanned: str) -> Difference:
    return Difference(version, fact.file, fact.line, fact.function, fact.tensor, field, read, scanned)


def _names(values: Iterable[str]) -> str:
    order = (*LAYOUTS, "inplace", "out", "functional", "backward")
    return " ".join(sorted(values, key=order.index)) or "none"


@dataclass(frozen=True)
class Score:
    """How often the scan flags what the facts flag."""

    both: int
    scan_only: int
    fact_only: int
    neither: int

    @property
    def precision(self) -> float:
        return self.both / max(1, self.both + self.scan_only)

    @property
    def recall(self) -> float:
        return self.both / max(1, self.both + self.fact_only)


def score(facts: Iterable[Fact], report: ScanReport, layout: str | None = None) -> Score:
    """Count graph results that the scan and the facts flag, for one layout or for any."""
    found = outcomes(report)
    counts = {(a, b): 0 for a in (False, True) for b in (False, True)}
    for fact in facts:
        outcome = found.get(fact.place)
        scanned = outcome.hit if outcome else frozenset()
        wanted, got = (bool(fact.hit), bool(scanned)) if layout is None else (layout in fact.hit, layout in scanned)
        counts[wanted, got] += 1
    return Score(counts[True, True], counts[False, True], counts[True, False], counts[False, False])


def table(version: str, facts: list[Fact], report: ScanReport) -> str:
    """Return the precision and recall of a scan as text, one line a layout."""
    lines = [
        f"torch {version}: the scan against {len(facts)} graph results judged by reading the source",
        f"  {'hit when':<16}{'both':>6}{'scan only':>11}{'read only':>11}{'neither':>9}{'precision':>11}{'recall':>8}",
    ]
    for name in (None, *LAYOUTS):
        s = score(facts, report, name)
        lines.append(
            f"  {name or 'any layout':<16}{s.both:>6}{s.scan_only:>11}{s.fact_only:>11}{s.neither:>9}"
            f"{s.precision:>11.3f}{s.recall:>8.3f}"
        )
    wrong = differences(version, facts, report)
    flagged = sum(f.effect != "safe" for f in facts)
    of = {"effect": len(facts), "layouts": len(facts), "triggers": flagged, "macos": flagged}
    right = (f"{name} {of[name] - sum(d.field == name for d in wrong)}/{of[name]}" for name in of)
    lines.append(f"  right: {', '.join(right)}; undecided {len(report.undecided)} of {report.sites}")
    return "\n".join(lines)
