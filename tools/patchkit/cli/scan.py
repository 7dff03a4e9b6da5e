"""``patchkit scan``: find the kernels of a tree that lose or misplace an output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from patchkit.cli.look_options import color_option, stdout_look
from patchkit.cli.tree_options import tree_options
from patchkit.output import format_names

if TYPE_CHECKING:
    from patchkit.scan.findings import ScanReport


@click.command(
    epilog="Exit codes: 0 no finding, 1 findings, 2 unusable input, 3 nothing to scan.",
    short_help="Find the kernels that lose or misplace a non-contiguous output.",
)
@tree_options
@click.option(
    "--format",
    "format_name",
    type=click.Choice(format_names()),
    default="text",
    show_default=True,
    help="Output.",
)
@click.option("--show-cleared", is_flag=True, help="List the safe graph results too, each with the reason.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 although there are findings.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write to FILE."
)
@color_option
def command(
    target: str | None,
    version: str | None,
    source: str | None,
    remote: str | None,
    format_name: str,
    show_cleared: bool,
    exit_zero: bool,
    output: Path | None,
    color: str,
) -> int:
    """Find the MPS kernels that lose or misplace a non-contiguous output.

    Give TREE, the root of a PyTorch source tree, or name one with --version or --source. The tree is only
    read.

    \b
    Examples:
      patchkit scan ~/src/pytorch
      patchkit scan --version 2.2.1
      patchkit scan --source pytorch-v2.2.1.tar.gz --format json --output report.json
    """
    from patchkit.output import Look, render
    from patchkit.output._file import write_whole
    from patchkit.output._terminal import count_of
    from patchkit.scan import scan_tree
    from patchkit.source import resolve

    tree = resolve(target, version=version, source=source, remote=remote)
    report = scan_tree(tree)
    if output is None:
        look = stdout_look(color, show_cleared=show_cleared)
        sys.stdout.write(render(report, tree, look, format_name=format_name))
    else:
        look = Look(color=color == "always", show_cleared=show_cleared)
        write_whole(output, render(report, tree, look, format_name=format_name))
        click.echo(f"{count_of(len(report.findings), 'finding')}; the report is in {output}.", err=True)
    return exit_code(report, exit_zero=exit_zero)


def exit_code(report: ScanReport, *, exit_zero: bool) -> int:
    """Return 0 without findings or with ``exit_zero``, else 1.

    Raises:
        NotATreeError: the tree holds no graph result at all, so that a scan says nothing about it.
    """
    from patchkit.errors import NotATreeError

    if not (report.sites or report.findings or report.undecided):
        raise NotATreeError(
            f"{report.root}: no graph result in {report.files} kernel files; "
            "is this a whole PyTorch source tree?"
        )
    return int(bool(report.findings) and not exit_zero)
