"""``patchkit demo``: the main job on an embedded miniature tree, offline."""

from __future__ import annotations

import sys
from pathlib import Path

import click

_EPILOG = """\b
Example:
  patchkit demo
  patchkit demo --into ./patchkit-demo
"""


@click.command(short_help="Scan, fix and rescan a miniature tree; works offline.", epilog=_EPILOG)
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep the tree and the patches in this new folder.",
)
def command(into: Path | None) -> int:
    """Scan, fix, apply and rescan a miniature PyTorch tree, and show each command.

    The tree holds kernels in PyTorch's idiom, some that lose their output and some that do not. Nothing is
    downloaded, and nothing outside the demo's folder is written.

    Exit codes: 0 the last scan is clean; 1 findings are left; 2 the demo could not run.
    """
    from patchkit.cli import run
    from patchkit.demo import run_demo

    codes = run_demo(run, _say, into)
    _say("")
    if into is None:
        _say("The demo's folder is gone; `patchkit demo --into DIR` keeps it.")
    _say("For a real release: patchkit scan --version 2.2.1")
    return codes[-1]


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
