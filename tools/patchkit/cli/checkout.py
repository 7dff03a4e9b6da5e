"""``patchkit checkout``: get the source of a torch version, a ref or an archive, and print where it is."""

from __future__ import annotations

import os
from pathlib import Path

import click

from patchkit.cli.tree_options import remote_option


@click.command("checkout")
@click.argument("target", metavar="VERSION|REF|ARCHIVE")
@remote_option
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Put the tree into this new or empty folder, as a repository of its own, instead of the cache.",
)
@click.option(
    "--full",
    is_flag=True,
    help="Every file and submodule, as building needs; without it what scanning reads.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary on standard error.")
def command(target: str, remote: str | None, into: Path | None, full: bool, quiet: bool) -> None:
    """Get the source of a torch version and print its folder, and nothing else, on standard output.

    VERSION|REF is a release (2.2.1, v2.2.1), a tag, a branch or a commit of the remote; ARCHIVE is a .tar.gz,
    .tar.xz, .tar.bz2 or .zip of the source. Trees are kept in a cache (PATCHKIT_CACHE names another folder)
    and shared by later runs; do not change them there, use --into.

    \b
    Examples:
      patchkit checkout 2.2.1
      patchkit checkout 2.2.1 --into pytorch-2.2.1
      patchkit checkout main --remote https://github.com/you/pytorch.git
      patchkit checkout pytorch-v2.6.0.tar.gz
      patchkit checkout 2.6.0 --full --into pytorch-2.6.0
    """
    from patchkit.source import resolve
    from patchkit.source.locate import names_a_source

    given = {"source": target} if names_a_source(target) else {"version": target}
    tree = resolve(None, **given, remote=remote, into=into, full=full, quiet=quiet)
    if not quiet:
        commit = f", commit {tree.commit[:12]}" if tree.commit else ""
        click.echo(f"torch {tree.version}{commit}", err=True)
    click.echo(os.fsencode(tree.root.absolute()))
