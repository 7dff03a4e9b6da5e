"""A rule as a page of text: what ``patchkit explain`` prints."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from patchkit.output import Look
from patchkit.output._frame import Label, frame, locate
from patchkit.output._terminal import paint, paragraphs, wrap
from patchkit.scan.rules import Rule, split_marks

UPSTREAM = "https://github.com/pytorch/pytorch"
INDENT = "  "


def rule_page(rule: Rule, look: Look) -> str:
    """Return the whole description of ``rule``: why, a flagged and a correct kernel, the fix, references."""
    title = f"{rule.id} {rule.name}"
    lines = [
        paint(title, "red", color=look.color) + f" (effect: {rule.effect})",
        *_block(rule.summary, look),
        *_section("Why it matters", _block(rule.why, look), look),
        *_section(f"A kernel that {rule.id} flags", _failing(rule, look), look),
        *_section("The same kernel, correct", _passing(rule, look), look),
        *_section("The fix", _block(rule.fix, look), look),
        *_section("Upstream", _references(rule.references, look), look),
    ]
    return "\n".join(lines) + "\n"


def rule_list(rules: Sequence[Rule], look: Look) -> str:
    """Return one entry for each rule: identifier, name and summary."""
    lines: list[str] = []
    for rule in rules:
        lines.append(paint(rule.id, "red", color=look.color) + f"  {rule.name}")
        lines += wrap(rule.summary, look.width, first=" " * (len(rule.id) + 2))
    lines += [
        "",
        *wrap(f"`patchkit explain {rules[0].id}` shows the kernels, the fix and upstream's.", look.width),
    ]
    return "\n".join(lines) + "\n"


def _section(title: str, body: Sequence[str], look: Look) -> list[str]:
    return ["", paint(title, "bold", color=look.color), *body]


def _block(text: str, look: Look) -> list[str]:
    return paragraphs(text, look.width, indent=INDENT)


def _failing(rule: Rule, look: Look) -> list[str]:
    text, marks = split_marks(rule)
    source = text.splitlines()
    width = max(look.width, *(len(line) + 10 for line in source))  # code to copy from is not cut
    labels = []
    for mark in marks:
        column, length = locate(source[mark.line - 1], mark.tensor) or (0, 1)
        labels.append(Label(mark.line, f"{rule.id}: {mark.tensor} is {rule.effect}", column, length, main=True))
    return frame(source, labels, width=width, color=look.color, around=len(source))[1:]


def _passing(rule: Rule, look: Look) -> list[str]:
    """List the correct kernel; a ``+`` stands at every line that the flagged one does not have."""
    flagged = split_marks(rule)[0].splitlines()
    correct = rule.passing.splitlines()
    matching = difflib.SequenceMatcher(None, flagged, correct, autojunk=False).get_matching_blocks()
    same = {block.b + offset for block in matching for offset in range(block.size)}
    gutter = len(str(len(correct)))
    lines = []
    for index, code in enumerate(correct):
        number = paint(str(index + 1).rjust(gutter), "blue", color=look.color)
        if index in same:
            lines.append(f"{number} {paint('|', 'blue', color=look.color)} {code}".rstrip())
        else:
            lines.append(f"{number} {paint('+ ' + code, 'green', color=look.color)}")
    return lines


def _references(references: Sequence[str], look: Look) -> list[str]:
    """Name each reference; a pull request or an issue gets its address."""
    lines: list[str] = []
    for reference in references:
        head, _, what = reference.partition(": ")
        kind, _, number = head.partition(" ")
        if kind in ("PR", "issue") and number.isdigit():
            address = f"{UPSTREAM}/{'pull' if kind == 'PR' else 'issues'}/{number}"
            lines += wrap(f"{address} {what}", look.width, first=INDENT, rest=INDENT * 2)
        else:
            lines += wrap(reference, look.width, first=INDENT, rest=INDENT * 2)
    return lines
