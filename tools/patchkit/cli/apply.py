"""``patchkit apply``: put a patch series into a tree, or take it out again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from patchkit.fix.apply import ApplyResult

_EPILOG = """\b
Example:
  patchkit fix ./pytorch --output fixes
  patchkit apply fixes ./pytorch --check
  patchkit apply fixes ./pytorch
"""


@click.command(name="apply", short_help="Apply a patch series to a tree, or reverse it.", epilog=_EPILOG)
@click.argument("series", type=click.Path(path_type=Path))
@click.argument("tree", type=click.Path(path_type=Path))
@click.option("--reverse", "-R", is_flag=True, help="Take the series out of the tree.")
@click.option("--check", is_flag=True, help="Only say whether it fits; change nothing.")
@click.option("--force", is_flag=True, help="Go on although a file to be patched has uncommitted changes in git.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output.",
)
def command(series: Path, tree: Path, reverse: bool, check: bool, force: bool, format_name: str) -> None:
    """Apply the patch series in the folder SERIES to the source tree TREE.

    The whole series goes in, or nothing does; if the run is killed, the next one completes it. A series that
    is already applied is not an error. TREE need not be a git checkout; in one, files with uncommitted
    changes are refused. Nothing is committed.

    Exit codes: 0 done, or nothing to do; 1 the series does not fit this tree; 2 the series is damaged or the
    tree cannot be written; 3 TREE is not a tree.
    """
    from patchkit.fix.apply import apply_series

    result = apply_series(series, tree, reverse=reverse, check=check, force=force)
    click.echo(_json(result) if format_name == "json" else "\n".join(_sentences(result, tree)))


def _sentences(result: ApplyResult, tree: Path) -> list[str]:
    lines = []
    if result.recovered is not None:
        lines.append(f"An earlier run in {tree} had been interrupted; its changes were {result.recovered} first.")
    if result.action == "empty":
        return [*lines, "The series holds no patches: nothing to do."]
    if result.action == "already-applied":
        return [*lines, f"The series is already applied to {tree}: nothing to do."]
    if result.action == "not-applied":
        return [*lines, f"The series is not applied to {tree}: nothing to reverse."]
    for moved in result.moved:
        way = "down" if moved.lines > 0 else "up"
        count = f"{abs(moved.lines)} line{'s' * (abs(moved.lines) != 1)}"
        lines.append(f"{moved.path}: hunk {moved.hunk} of {moved.patch} fits {count} further {way}.")
    patches = f"{len(result.patches)} patch{'es' * (len(result.patches) != 1)}"
    files = f"{len(result.files)} file{'s' * (len(result.files) != 1)}"
    if result.check:
        verb = "can be reversed" if result.action == "reversed" else "applies"
        return [*lines, f"The series {verb}: {patches}, {files} in {tree}. Nothing was changed."]
    verb, word = ("Reversed", "in") if result.action == "reversed" else ("Applied", "to")
    return [*lines, f"{verb} {patches} {word} {files} in {tree}."]


def _json(result: ApplyResult) -> str:
    import json
    from dataclasses import asdict

    return json.dumps({"schema": "patchkit-apply/1", **asdict(result)}, indent=2)
