"""``patchkit where``: follow an operator from its schema to the memory its kernels write."""

from __future__ import annotations

import sys

import click

from patchkit.cli.look_options import color_option, stdout_look
from patchkit.cli.tree_options import tree_options


@click.command(short_help="Follow an operator from its schema to the results its kernels write.")
@click.argument("operator", metavar="OP")
@tree_options
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
    operator: str,
    target: str | None,
    version: str | None,
    source: str | None,
    remote: str | None,
    format_name: str,
    color: str,
) -> int:
    """Follow OP from its schema to the results its kernels write, for each backend of its dispatch table.

    OP is an overload such as addcmul_ or add.out; the bare name of an operator shows all its overloads.

    \b
    Examples:
      patchkit where addcmul_ ~/src/pytorch
      patchkit where addcmul_ --version 2.2.1
      patchkit where add ~/src/pytorch --format json
    """
    from patchkit.output._where_page import where_json, where_page
    from patchkit.scan.where import find_operator
    from patchkit.source import resolve

    tree = resolve(target, version=version, source=source, remote=remote)
    found = find_operator(tree, operator)
    sys.stdout.write(where_json(found) if format_name == "json" else where_page(found, stdout_look(color)))
    return 0
