"""Reproducers for a scan's findings: those of the suite that cover them, and generated pages for the rest."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchkit.errors import InputError
from patchkit.regress.reproducers import Reproducer, base_name, covering, read_reproducer
from patchkit.resources import templates_dir

SCHEMA = "patchkit-scan/1"
GROUP = "generated"
TEMPLATE = "reproducer/page.py.j2"


@dataclass(frozen=True)
class Target:
    """What a generated page is about: one kernel and the operators of its findings."""

    function: str
    ops: tuple[str, ...]
    effects: tuple[str, ...]
    triggers: tuple[str, ...]
    rules: tuple[str, ...]
    macos: str
    places: tuple[str, ...]
    torch_version: str


def read_findings(path: Path) -> tuple[Target, ...]:
    """Return the kernels of a scan report that have findings, one target each.

    Raises:
        InputError: the file is no ``patchkit-scan/1`` report.
    """
    try:
        report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if report["schema"] != SCHEMA:
            raise InputError(f"{path} is {report['schema']}, not a {SCHEMA} report.")
        return _targets(report["findings"], str(report["torch_version"]))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a {SCHEMA} report ({error!r}).") from error


def _targets(findings: Sequence[dict[str, Any]], version: str) -> tuple[Target, ...]:
    by_function: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for finding in findings:
        by_function.setdefault((finding["file"], finding["function"]), []).append(finding)
    return tuple(
        Target(
            function=function,
            ops=_union(found, "ops"),
            effects=tuple(dict.fromkeys(f["effect"] for f in found)),
            triggers=_union(found, "triggers"),
            rules=tuple(dict.fromkeys(f["rule"] for f in found)),
            macos="<15" if all(f["macos"] == "<15" for f in found) else "all",
            places=tuple(dict.fromkeys(f"{file}:{f['line']}" for f in found)),
            torch_version=version,
        )
        for (file, function), found in by_function.items()
    )


def _union(findings: Sequence[dict[str, Any]], key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for finding in findings for value in finding[key]))


def suite_for_findings(
    path: Path, suite: Path, pages: Sequence[Reproducer], folder: Path
) -> tuple[Path, tuple[Reproducer, ...]]:
    """Make a copy of the suite with a page for each finding that no page covers.

    Args:
        path: the scan report.
        suite, pages: the suite and the pages to choose from; the sweep covers everything and so counts for
            nothing.
        folder: where the copy goes; it must not exist.

    Returns:
        The copy and the pages to run in it.

    Raises:
        InputError: the report is unusable, or has findings without any operator.
    """
    targets = read_findings(path)
    specific = [page for page in pages if "*" not in page.ops]
    shutil.copytree(suite, folder, ignore=shutil.ignore_patterns("__pycache__"))
    chosen = covering(specific, (op for target in targets for op in target.ops))
    copied = [read_reproducer(folder / page.path.relative_to(suite), folder) for page in chosen]
    covered = {base_name(op) for page in chosen for op in page.ops}
    generated = []
    for target in targets:
        left = tuple(op for op in target.ops if base_name(op) not in covered)
        if left:
            generated.append(_write_page(target, left, folder))
    return folder, (*copied, *generated)


def _write_page(target: Target, ops: tuple[str, ...], suite: Path) -> Reproducer:
    name = re.sub(r"\W+", "_", target.function).strip("_").lower()
    page = suite / GROUP / f"test_{name}.py"
    number = 2
    while page.exists():
        page = suite / GROUP / f"test_{name}_{number}.py"
        number += 1
    page.parent.mkdir(exist_ok=True)
    page.write_text(render_page(target, ops), encoding="utf-8")
    return read_reproducer(page, suite)


def render_page(target: Target, ops: Sequence[str]) -> str:
    """Return the text of a generated page for operators of one kernel."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(templates_dir()),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["literal"] = repr
    entries = _entries(target.triggers)
    return environment.get_template(TEMPLATE).render(target=target, ops=list(ops), entries=entries)


def _entries(triggers: Sequence[str]) -> list[str]:
    """The sweep's entry points for a finding's triggers; a backward is tried as what its op is called
    with."""
    entries = [entry for entry in ("out", "inplace", "functional") if entry in triggers]
    return entries or ["out", "inplace", "functional"]
