"""``--color``, and the look of what goes to standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

import click

from patchkit.output import Look

Command = TypeVar("Command", bound=Callable[..., object])


def color_option(function: Command) -> Command:
    """Add ``--color`` to a command; it arrives as the keyword ``color``."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Colour; auto is on a terminal, unless NO_COLOR is set.",
    )(function)


def stdout_look(color: str, *, show_cleared: bool = False) -> Look:
    """Return the look that ``--color`` and the terminal ask for."""
    from patchkit.output._terminal import wants_color, width_of

    return Look(width_of(sys.stdout), wants_color(color, sys.stdout), show_cleared)
