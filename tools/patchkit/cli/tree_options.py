"""The arguments that name a tree, the same for every command that reads one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])


def tree_options(function: _Command) -> _Command:
    """Add ``TREE``, ``--version``, ``--source`` and ``--remote`` to a click command.

    The command is called with ``target``, ``version``, ``source`` and ``remote`` (each ``str | None``), which
    it hands to :func:`patchkit.source.resolve`; that checks that exactly one tree is named.
    """
    options = (
        click.argument("target", metavar="[TREE]", required=False),
        click.option(
            "--version",
            metavar="X.Y.Z|REF",
            help="A release such as 2.2.1, or a tag, branch or commit of the remote.",
        ),
        click.option("--source", metavar="ARCHIVE|URL", help="A .tar.* or .zip file, a git URL or a local repository."),
        remote_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


def remote_option(function: _Command) -> _Command:
    """Add ``--remote`` to a click command."""
    return click.option(
        "--remote",
        metavar="URL|PATH",
        help="Where a version is looked up instead of PyTorch's repository; PATCHKIT_REMOTE does the same.",
    )(function)
