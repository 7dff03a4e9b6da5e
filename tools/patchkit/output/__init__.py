"""Output formats: a module without a leading underscore is a format and has ``render(report, tree, look)``.

A format only formats: it takes the report as it is, reads source lines for its code frames, and returns text.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from patchkit.scan.findings import ScanReport
    from patchkit.source.tree import Tree


@dataclass(frozen=True)
class Look:
    """How text is laid out.

    Args:
        width: columns that prose and code frames keep to.
        color: whether ANSI colour codes may be written.
        show_cleared: list every safe site with the reason why it is safe.
    """

    width: int = 100
    color: bool = False
    show_cleared: bool = False


@cache
def format_names() -> tuple[str, ...]:
    """Return the formats a report can be rendered in, ``text`` first."""
    names = {found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_")}
    return ("text", *sorted(names - {"text"}))


def render(report: ScanReport, tree: Tree, look: Look, *, format_name: str) -> str:
    """Return ``report`` in one of :func:`format_names`, ending in a newline."""
    text: str = importlib.import_module(f"{__name__}.{format_name}").render(report, tree, look)
    return text
