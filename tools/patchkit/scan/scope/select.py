"""Which rules, operators, systems and files are reported."""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import InputError, UsageError
from patchkit.scan.findings import Finding, ScanReport
from patchkit.scan.scope import set_aside
from patchkit.source.tree import Tree

_STRIDED_FROM = 15  # the macOS whose MPSGraph writes through strides (torch 2.5 and later ask for it)


@dataclass(frozen=True)
class Selection:
    """What a user asks for; an empty part asks for all.

    Args:
        select, ignore: rules, by identifier, name or effect.
        ops: operators (``addcmul``, with its in-place and ``out`` forms) or overloads (``addcmul.out``).
        macos: a macOS release such as ``14`` or ``14.5``.
        paths: files relative to the tree.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    macos: str = ""
    paths: tuple[str, ...] | None = None


def apply_selection(report: ScanReport, tree: Tree, selection: Selection) -> ScanReport:
    """Set aside what ``selection`` does not ask for.

    Raises:
        UsageError: there is no such rule or operator, or ``macos`` is no release.
    """
    present = {one.rule for one in (*report.findings, *(moved.finding for moved in report.set_aside))}
    selected = rule_ids(selection.select, present)
    ignored = rule_ids(selection.ignore, present)
    if selection.ops:
        _check_ops(selection.ops, report, tree)
    macos = _macos(selection.macos)

    def reason(finding: Finding) -> str:
        if (selected and finding.rule not in selected) or finding.rule in ignored:
            return "rule"
        if selection.ops and not any(is_op(name, wanted) for name in finding.ops for wanted in selection.ops):
            return "op"
        if macos and finding.macos not in ("all", macos):
            return "macos"
        if selection.paths is not None and finding.file not in selection.paths:
            return "path"
        return ""

    return set_aside(report, reason)


def rule_ids(names: Iterable[str], present: Iterable[str]) -> frozenset[str]:
    """Return the identifiers of the rules that ``names`` name, each by identifier, name or effect, in any case.

    Args:
        present: identifiers that the report uses; these are known too.

    Raises:
        UsageError: there is no such rule; the message names the nearest.
    """
    names = tuple(names)
    if not names:
        return frozenset()
    from patchkit.scan.rules import all_rules

    known: dict[str, set[str]] = {one.lower(): {one} for one in present}
    for rule in all_rules():
        for name in (rule.effect, rule.name, rule.id):  # several rules may have one effect
            known.setdefault(name.lower(), set()).add(rule.id)
    out: set[str] = set()
    for name in names:
        plain = name.strip().lower().removeprefix("patchkit-")
        if plain not in known:
            near = difflib.get_close_matches(plain, known, 1)
            ids = sorted(known[near[0]] if near else set().union(*known.values()))
            hint = f"did you mean {' or '.join(ids)}?" if near else f"there are {', '.join(ids)}."
            raise UsageError(f"there is no rule {name}; {hint}")
        out |= known[plain]
    return frozenset(out)


def is_op(overload: str, wanted: str) -> bool:
    """Say whether ``wanted`` names this overload: itself, or its operator with all of the operator's forms."""
    return overload == wanted or op_of(overload) == wanted


def op_of(overload: str) -> str:
    """Return the operator of an overload: ``addcmul`` of ``addcmul_`` and of ``addcmul.out``."""
    base = overload.partition(".")[0]
    return base[:-1] if base.endswith("_") and not base.endswith("__") else base


def _check_ops(wanted: Sequence[str], report: ScanReport, tree: Tree) -> None:
    """A wrong name must not look clean: what no finding names has to be an operator of the tree."""
    found = {op for one in report.findings for op in one.ops}
    missing = [name for name in wanted if not any(is_op(op, name) for op in found)]
    if not missing:
        return
    from patchkit.scan.registry import load_registry

    overloads = load_registry(tree.root).overloads
    for name in missing:
        if not any(is_op(overload, name) for overload in overloads):
            near = difflib.get_close_matches(name, {op_of(overload) for overload in overloads}, 1)
            hint = f"; did you mean {near[0]}?" if near else "."
            raise UsageError(f"there is no operator {name} in torch {tree.version}{hint}")


def _macos(wanted: str) -> str:
    if not wanted:
        return ""
    match = re.fullmatch(r"(?:macos[ -]?)?(\d{2})(?:\.\d+){0,2}", wanted.strip().lower())
    if match is None:
        raise UsageError(f"'{wanted}' is no macOS release; give one such as 14 or 15.2.")
    return ">=15" if int(match[1]) >= _STRIDED_FROM else "<15"


def listed_paths(listing: Path, tree: Tree) -> tuple[str, ...]:
    """Return the files that ``listing`` names, one a line, as paths relative to the tree; others are left out.

    Raises:
        InputError: the listing cannot be read.
    """
    try:
        names = listing.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError as error:
        raise InputError(f"the list of files {listing} cannot be read: {error.strerror}.") from error
    root = tree.root.resolve()
    out = []
    for name in names:
        with contextlib.suppress(ValueError):  # a file outside the tree has no finding
            out.append(Path(name).resolve().relative_to(root).as_posix())
    return tuple(out)
