"""One table of operators and releases: what each release loses, where it is fixed, and from when on it is safe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from patchkit.scan.cache import Scanned
from patchkit.scan.findings import Finding
from patchkit.scan.scope.select import op_of

#: States of a cell that are no effect; an effect (``lost``, ``misplaced`` ...) is the state of a cell with findings.
SAFE, FIXED, UNDECIDED, GONE, ABSENT = "safe", "fixed", "undecided", "gone", "absent"
_WORST_FIRST = ("lost", "unwritten", "dropped", "garbage", "misplaced", "restrided")


@dataclass(frozen=True)
class Release:
    """One scanned tree: its version, what the user named it by, and how many of its kernels' writes have a finding.

    ``sites`` counts graph results and the tensors that Metal and matrix kernels write.
    """

    version: str
    given: str
    findings: int
    sites: int
    undecided: int


@dataclass(frozen=True)
class Cell:
    """An operator in a release.

    Args:
        state: an effect; ``fixed`` where an earlier release had one, ``safe`` where none had; ``undecided`` where the
            scan could not follow a function that another release loses the operator in; ``gone`` or ``absent`` where
            the operator has no kernel for MPS tensors, any more or yet.
        findings: those that reach the operator.
    """

    state: str
    findings: tuple[Finding, ...] = ()

    @property
    def bad(self) -> bool:
        """Whether the release loses or misplaces the operator's output."""
        return bool(self.findings)


@dataclass(frozen=True)
class Row:
    """An operator over the releases; ``first_safe`` is the version from which on no release has a finding."""

    op: str
    cells: tuple[Cell, ...]
    first_safe: str

    @property
    def safe_from(self) -> str:
        """``first_safe`` in a word: the version, ``not yet``, or what became of the operator instead."""
        last = self.cells[-1].state
        return self.first_safe or (last if last in (GONE, UNDECIDED) else "not yet")


@dataclass(frozen=True)
class Matrix:
    """Releases in ascending order, and every operator that at least one of them loses."""

    releases: tuple[Release, ...]
    rows: tuple[Row, ...]


def make_matrix(scans: Sequence[Scanned]) -> Matrix:
    """Compare the scans of several trees, in the order of their versions; trees of one version keep their order."""
    ordered = sorted(scans, key=lambda one: version_key(one.report.torch_version))
    releases = tuple(
        Release(
            one.report.torch_version,
            one.report.root,
            len(one.report.findings),
            one.report.sites + one.report.writes,
            len(one.report.undecided),
        )
        for one in ordered
    )
    hit = [_by_op(one) for one in ordered]
    known = [{op_of(name) for name in one.ops} for one in ordered]
    unsure = [{one.function for one in scan.report.undecided} for scan in ordered]
    rows = []
    for op in sorted(set().union(*hit) if hit else set(), key=lambda name: (name.lstrip("_"), name)):
        functions = {finding.function for found in hit for finding in found.get(op, ())}
        cells = _cells(op, hit, known, [bool(functions & names) for names in unsure])
        rows.append(Row(op, cells, _first_safe(cells, releases)))
    return Matrix(releases, tuple(rows))


def version_key(version: str) -> tuple[int, ...]:
    """Return a key that sorts ``2.10.0`` behind ``2.9.1``; what is no version sorts last."""
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else (10**6,)


def _by_op(scanned: Scanned) -> dict[str, list[Finding]]:
    out: dict[str, list[Finding]] = {}
    for finding in scanned.report.findings:
        for op in dict.fromkeys(op_of(name) for name in finding.ops):
            out.setdefault(op, []).append(finding)
    return out


def _cells(
    op: str, hit: Sequence[dict[str, list[Finding]]], known: Sequence[set[str]], unsure: Sequence[bool]
) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for place, found in enumerate(hit):
        findings = tuple(found.get(op, ()))
        if findings:
            effects = {finding.effect for finding in findings}
            worst = next((effect for effect in _WORST_FIRST if effect in effects), findings[0].effect)
            cells.append(Cell(worst, findings))
        elif op not in known[place]:
            cells.append(Cell(GONE if any(op in names for names in known[:place]) else ABSENT))
        elif unsure[place]:
            cells.append(Cell(UNDECIDED))
        else:
            cells.append(Cell(FIXED if any(cell.bad for cell in cells) else SAFE))
    return tuple(cells)


def _first_safe(cells: Sequence[Cell], releases: Sequence[Release]) -> str:
    """The first release behind the last one with a finding; none where that is the newest, or nobody knows."""
    last = max(place for place, cell in enumerate(cells) if cell.bad)
    for place in range(last + 1, len(cells)):
        if cells[place].state in (SAFE, FIXED):
            return releases[place].version
    return ""
