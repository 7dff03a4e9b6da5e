"""``patchkit fix``: write a patch series for what a scan finds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from patchkit.cli.look_options import color_option, stdout_look
from patchkit.cli.tree_options import tree_options

if TYPE_CHECKING:
    from patchkit.fix import FixResult

_EPILOG = """\b
Example:
  patchkit fix ./pytorch --output fixes
  patchkit apply fixes ./pytorch
"""


@click.command(short_help="Write a patch series for the findings of a scan.", epilog=_EPILOG)
@tree_options
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder for the series.  [default: patchkit-out/VERSION]",
)
@click.option("--check", is_flag=True, help="Say what would be patched; write nothing. Exits with 1 if anything.")
@click.option("--in-place", is_flag=True, help="Edit the tree instead of writing a series.")
@click.option("--recipe", metavar="NAME", help="Make only the patch of this recipe, an upstream case.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output.",
)
@color_option
def command(
    target: str | None,
    version: str | None,
    source: str | None,
    remote: str | None,
    output: Path | None,
    check: bool,
    in_place: bool,
    recipe: str | None,
    format_name: str,
    color: str,
) -> int:
    """Write a patch series that makes each kernel keep its output in every layout.

    One mail for each kernel file, which `git am`, `patch -p1` and `patchkit apply` take, with a manifest
    of what it was made for. What cannot be fixed is listed with the reason.

    Exit codes: 0 every finding has its patch, or there is none; 1 some have none, or --check found what to
    patch; 2 unusable input; 3 nothing to scan.
    """
    from patchkit.errors import UsageError

    if in_place and (check or output):
        raise UsageError("--in-place edits the tree itself; it does not go with --check or --output.")

    from patchkit.fix import fix_tree
    from patchkit.output._fix_page import fix_json, fix_page
    from patchkit.source import resolve

    tree = resolve(target, version=version, source=source, remote=remote)
    result = fix_tree(tree, output, check=check, in_place=in_place, recipe=recipe)
    if format_name == "json":
        sys.stdout.write(fix_json(result))
    else:
        sys.stdout.write(fix_page(result, tree.given, stdout_look(color), check=check))
    return exit_code(result, check=check)


def exit_code(result: FixResult, *, check: bool) -> int:
    """Return 1 where a finding has no patch, or where ``check`` found something to patch, else 0."""
    return int(bool(result.not_fixed) or (check and bool(result.patches)))
