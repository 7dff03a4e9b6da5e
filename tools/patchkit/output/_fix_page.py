"""What ``patchkit fix`` prints: the patches it made, and what it could not fix and why."""

from __future__ import annotations

import json
import shlex
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from patchkit.output import Look
from patchkit.output._terminal import count_of, wrap

if TYPE_CHECKING:
    from rich.table import Table

    from patchkit.fix import FixResult


def fix_page(result: FixResult, given: str, look: Look, *, check: bool) -> str:
    """Return two tables, patches and findings without one, and what to run next.

    Args:
        given: what the user named the tree by.
        check: nothing was written; the text says so.
    """
    lines: list[str] = []
    if result.patches:
        table = _table("patch", "files", "fixes")
        for number, patch in enumerate(result.patches, 1):
            files = "\n".join(PurePosixPath(change.path).name for change in patch.changes)
            table.add_row(f"{number:04d} {patch.subject}", files, count_of(len(patch.findings), "finding"))
        lines.append(_drawn(table, look))
    if result.not_fixed:
        table = _table("not fixed", "where", "why not")
        for finding, reason in result.not_fixed:
            where = f"{PurePosixPath(finding.file).name}:{finding.line}\n{finding.function}"
            table.add_row(f"{finding.rule} {finding.effect}", where, reason)
        lines.append(_drawn(table, look))
    lines += wrap(_closing(result, given, check=check), look.width)
    return "\n".join(lines) + "\n"


def fix_json(result: FixResult) -> str:
    """Return the patches and the findings without one as JSON, ``patchkit-fix/1``."""
    return (
        json.dumps(
            {
                "schema": "patchkit-fix/1",
                "folder": str(result.folder) if result.folder else None,
                "patches": [
                    {
                        "subject": patch.subject,
                        "files": [change.path for change in patch.changes],
                        "template": patch.template,
                        "recipe": patch.recipe,
                        "findings": list(patch.findings),
                    }
                    for patch in result.patches
                ],
                "not_fixed": [
                    {
                        "rule": finding.rule,
                        "effect": finding.effect,
                        "file": finding.file,
                        "line": finding.line,
                        "function": finding.function,
                        "tensor": finding.tensor,
                        "fingerprint": finding.fingerprint,
                        "reason": reason,
                    }
                    for finding, reason in result.not_fixed
                ],
            },
            indent=2,
        )
        + "\n"
    )


def _closing(result: FixResult, given: str, *, check: bool) -> str:
    fixed = sum(len(patch.findings) for patch in result.patches)
    verb = "would be fixed" if check else "fixed"
    said = f"{count_of(fixed, 'finding')} {verb} by {count_of(len(result.patches), 'patch', 'patches')}"
    if not result.patches:
        said = "nothing to patch"
    if result.not_fixed:
        said += f", {len(result.not_fixed)} not fixed"
    if check and result.patches:
        return f"{said}; nothing was written (--check)."
    if result.edited:
        return f"{said}, written to {count_of(len(result.edited), 'file')} of {given}."
    if result.folder and result.patches:
        command = shlex.join(("patchkit", "apply", str(result.folder), given))
        return f"{said}, in {result.folder}. Next: {command}"
    return f"{said}."


def _table(*headings: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _drawn(table: Table, look: Look) -> str:
    import io

    from rich.console import Console

    stream = io.StringIO()
    console = Console(
        file=stream,
        width=look.width,
        force_terminal=look.color,
        color_system="standard" if look.color else None,
        markup=False,
        highlight=False,
        emoji=False,
    )
    console.print(table)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())
