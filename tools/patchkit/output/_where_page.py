"""What ``patchkit where`` prints: the way of each overload as a tree."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from patchkit.output import Look
from patchkit.scan.where import Step, Where

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree as Branches

SCHEMA = "patchkit-where/1"
# A place that is cut cannot be copied or clicked; the terminal wraps what it has no room for.
WIDE = 1000
_NAMES = {"delegate": "structured delegate", "meta": "meta function", "dispatch": "dispatch"}


_NO_PLACE = {"result": "", "dispatch": "by no line of the dispatch table"}


def where_page(found: Sequence[Where], look: Look) -> str:
    """Return one tree for each overload, its schema at the root."""
    from rich.console import Console

    stream = io.StringIO()
    console = Console(
        file=stream,
        width=WIDE,
        force_terminal=look.color,
        color_system="standard" if look.color else None,
        markup=False,
        highlight=False,
        emoji=False,
    )
    for place, one in enumerate(found):
        if place:
            console.print()
        console.print(_tree(one))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def where_json(found: Sequence[Where]) -> str:
    """Return the same as JSON, ``patchkit-where/1``."""
    return json.dumps({"schema": SCHEMA, "overloads": [asdict(one) for one in found]}, indent=2) + "\n"


def _tree(one: Where) -> Branches:
    from rich.tree import Tree

    root = Tree(_label(one.schema, bold=True))
    for step in one.steps:
        _grow(root, step)
    return root


def _grow(branch: Branches, step: Step) -> None:
    twig = branch.add(_label(step))
    for inner in step.steps:
        _grow(twig, inner)


def _label(step: Step, *, bold: bool = False) -> Text:
    from rich.text import Text

    text = Text()
    if step.kind not in ("schema",):
        text.append(f"{_NAMES.get(step.kind, step.kind)} ", style="blue")
    text.append(f"`{step.text}`" if step.kind == "result" and step.file else step.text, style="bold" if bold else "")
    if step.verdict:
        style = "green" if step.verdict.startswith("ok") else "yellow" if "undecided" in step.verdict else "bold red"
        text.append("  ")
        text.append(step.verdict, style=style)
    where = f"{step.file}:{step.line}" if step.file else _NO_PLACE.get(step.kind, "not in this tree")
    if where:
        text.append(f"  {where}", style="dim")
    return text
