"""Output formats: a module without a leading underscore is a format and has ``render(report, tree, look)``.

A format only formats: it takes the report as it is, reads source lines for its code frames, and returns text.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from patchkit.output._python_calls import Spelled
    from patchkit.scan.findings import ScanReport
    from patchkit.source.tree import Tree


@dataclass(frozen=True)
class Edit:
    """A verified edit of one file.

    Args:
        before, after: the file's whole text.
        fingerprints: the findings that it cures.
    """

    before: str
    after: str
    fingerprints: frozenset[str]


@dataclass(frozen=True)
class Look:
    """How a report is laid out, and what a format shows beside it.

    Args:
        width: columns that prose and code frames keep to.
        color: whether ANSI colour codes may be written.
        show_cleared: list every safe site with the reason why it is safe.
        folder: of the tree, relative to the repository whose paths a report is to use, with ``/``.
        edits: edits that a format may offer, by path relative to the tree.
        overloads: how Python spells the findings' operators, where that is known already.
    """

    width: int = 100
    color: bool = False
    show_cleared: bool = False
    folder: str = ""
    edits: Mapping[str, Edit] = field(default_factory=dict)
    overloads: Mapping[str, Spelled] | None = None

    def path(self, file: str) -> str:
        """Return a path of the tree as the repository has it."""
        return str(PurePosixPath(self.folder) / file)


@cache
def format_names() -> tuple[str, ...]:
    """Return the formats a report can be rendered in, ``text`` first."""
    names = {found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_")}
    return ("text", *sorted(names - {"text"}))


def render(report: ScanReport, tree: Tree, look: Look, *, format_name: str) -> str:
    """Return ``report`` in one of :func:`format_names`, ending in a newline."""
    text: str = importlib.import_module(f"{__name__}.{format_name}").render(report, tree, look)
    return text
