"""The suite's pages and their metadata, read without importing torch."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchkit.errors import InputError, UsageError

GROUPS = ("mps_outputs", "sweep", "autograd_mutation", "strides_storage", "training")


@dataclass(frozen=True)
class Reproducer:
    """One page of the suite.

    Args:
        name: ``group/test_page`` without the suffix, as reports show it.
        path: the file.
        group: one of :data:`GROUPS`, or ``generated``.
        ops: overload names of ``native_functions.yaml``; ``*`` for all.
        references: ``pytorch#N`` of issues and pull requests.
        broken: version specifier of the official releases whose MPS backend fails it, ``never`` or
            ``unknown``.
        fixed: the first release that is right, ``never`` or ``unknown``.
        macos: macOS versions that show it: ``all``, ``<15`` or ``>=15``.
        faults: the simulated faults that it has to catch.
    """

    name: str
    path: Path
    group: str
    title: str
    ops: tuple[str, ...]
    references: tuple[str, ...]
    broken: str
    fixed: str
    macos: str
    faults: tuple[str, ...]


def read_reproducer(path: Path, suite: Path) -> Reproducer:
    """Read a page's ``REPRODUCER`` literal.

    Raises:
        InputError: the page has none, or it is not a literal with the expected keys.
    """
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as a reproducer: {error}.") from error
    for node in tree.body:
        if isinstance(node, ast.Assign) and [getattr(t, "id", None) for t in node.targets] == ["REPRODUCER"]:
            try:
                return _from_metadata(ast.literal_eval(node.value), path, suite)
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(f"{path}: REPRODUCER is not usable metadata ({error!r}).") from error
    raise InputError(f"{path} is not a reproducer: it has no REPRODUCER metadata.")


def _from_metadata(facts: dict[str, Any], path: Path, suite: Path) -> Reproducer:
    return Reproducer(
        name=path.relative_to(suite).with_suffix("").as_posix(),
        path=path,
        group=facts["group"],
        title=facts["title"],
        ops=tuple(facts["ops"]),
        references=tuple(facts["references"]),
        broken=facts["broken"],
        fixed=facts["fixed"],
        macos=facts["macos"],
        faults=tuple(facts.get("faults", ())),
    )


def list_reproducers(suite: Path, groups: Iterable[str] = ()) -> tuple[Reproducer, ...]:
    """Return the pages of the suite in the order of the groups, those of ``groups`` only where given.

    Raises:
        UsageError: there is no such group.
        InputError: a page cannot be read.
    """
    wanted = tuple(groups) or GROUPS
    for group in wanted:
        if group not in GROUPS:
            raise UsageError(f"there is no group {group}; there are {', '.join(GROUPS)}.")
    return tuple(
        read_reproducer(path, suite)
        for group in GROUPS
        if group in wanted
        for path in sorted((suite / group).glob("test_*.py"))
    )


def covering(reproducers: Sequence[Reproducer], ops: Iterable[str]) -> tuple[Reproducer, ...]:
    """Return the reproducers that exercise at least one of the operators, overloads of one name being one."""
    wanted = {base_name(op) for op in ops}
    return tuple(r for r in reproducers if wanted & {base_name(op) for op in r.ops})


def base_name(overload: str) -> str:
    """Return ``addcmul`` for ``aten::addcmul_``, ``addcmul.out`` and ``addcmul``."""
    name = overload.split("::")[-1].split(".")[0]
    return name if name.startswith("__") else name.rstrip("_")
