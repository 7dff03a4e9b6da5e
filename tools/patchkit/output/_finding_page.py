"""What ``patchkit explain FINDING`` prints: the finding, and the nearest safe kernel beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from patchkit.output import Look
from patchkit.output._frame import Label, frame, locate, read_lines
from patchkit.output._python_calls import read_overloads
from patchkit.output._terminal import columns, paint, wrap
from patchkit.output.text import finding_lines
from patchkit.scan.findings import Finding
from patchkit.source.tree import Tree

if TYPE_CHECKING:
    from patchkit.scan.nearest import Comparison, Kernel

SCHEMA = "patchkit-explain/1"
SIDE_BY_SIDE = 132
GAP = "   "
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def finding_page(finding: Finding, comparison: Comparison | None, tree: Tree, look: Look) -> str:
    """Return the finding as ``scan`` shows it, then both kernels with the lines that differ marked."""
    overloads = read_overloads(tree.root) if look.overloads is None else look.overloads
    lines = finding_lines(finding, lambda file: read_lines(tree.root / file), overloads, look)
    lines += _fact("fingerprint", finding.fingerprint, look)
    if comparison is None:
        lines += ["", *wrap("This tree has no safe kernel to compare it with.", look.width)]
    else:
        lines += ["", *_both(comparison, tree, look)]
    lines += ["", f"`patchkit explain {finding.rule}` describes the rule."]
    return "\n".join(lines) + "\n"


def finding_json(finding: Finding, comparison: Comparison | None) -> str:
    """Return the same as JSON, ``patchkit-explain/1``."""
    compared = asdict(comparison) if comparison else None
    return json.dumps({"schema": SCHEMA, "finding": asdict(finding), "comparison": compared}, indent=2) + "\n"


def _fact(name: str, text: str, look: Look) -> list[str]:
    return [f"  {paint(name, 'blue', color=look.color)} {text}"]


def _both(comparison: Comparison, tree: Tree, look: Look) -> list[str]:
    beside = look.width >= SIDE_BY_SIDE
    width = (look.width - len(GAP)) // 2 if beside else look.width
    draw = partial(_kernel, tree=tree, width=width, color=look.color)
    left = draw("This kernel", "-", comparison.unsafe, "only here: nothing like it in the safe kernel")
    right = draw("The nearest safe kernel", "+", comparison.safe, "what keeps the output")
    closing = wrap(
        f"{comparison.safe.function} is safe: {comparison.reason}. "
        f"The two have {comparison.alike:.0%} of their tokens in common.",
        look.width,
    )
    if not beside:
        return [*left, "", *right, "", *closing]
    rows = max(len(left), len(right))
    pairs = zip([*left, *[""] * (rows - len(left))], [*right, *[""] * (rows - len(right))], strict=True)
    return [*((f"{one}{' ' * (width - _seen(one))}{GAP}{other}").rstrip() for one, other in pairs), "", *closing]


def _seen(text: str) -> int:
    return columns(_ESCAPES.sub("", text))


def _kernel(title: str, sign: str, kernel: Kernel, remark: str, *, tree: Tree, width: int, color: bool) -> list[str]:
    source = read_lines(tree.root / kernel.file)
    head = f"{title}: {kernel.function}"
    lines = [paint(head, "bold", color=color), *wrap(f"{kernel.file}:{kernel.line}", width)]
    return [*lines, *frame(source, _labels(source, kernel, sign, remark), width=width, color=color, around=1)]


def _labels(source: Sequence[str], kernel: Kernel, sign: str, remark: str) -> list[Label]:
    """Mark every line that differs; the line of the result is shown in any case, to find one's way."""
    labels = []
    for place, number in enumerate(kernel.differs):
        code = source[number - 1] if number <= len(source) else ""
        column = len(code) - len(code.lstrip()) + 1
        labels.append(
            Label(number, f"{sign} {remark if not place else 'and this'}", column, len(code.strip()) or 1, True)
        )
    if kernel.site not in kernel.differs and kernel.site <= len(source):
        found = locate(source[kernel.site - 1], kernel.tensor.split("\n")[0].strip()) or (0, 1)
        labels.append(Label(kernel.site, "the result goes here", *found))
    return labels
