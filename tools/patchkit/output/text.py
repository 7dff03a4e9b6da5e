"""The ``text`` format: findings grouped by file, each with a code frame, for a person at a terminal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import PurePosixPath
from typing import TypeVar

from patchkit.output import Look
from patchkit.output._frame import Label, frame, locate, read_lines
from patchkit.output._python_calls import Spelled, python_calls, read_overloads
from patchkit.output._terminal import count_of, paint, printable, wrap
from patchkit.scan.findings import Cleared, Finding, Notice, ScanReport, TraceStep, Undecided
from patchkit.source.tree import Tree

# What each reason of `cleared` means; a reason that is not listed is shown by its name.
REASONS = {
    "fresh_contiguous": "the tensor is allocated here, contiguous and at offset 0: it is never gathered",
    "copy_back": "a contiguous temporary takes the result and is copied into the output after the run",
    "structured_proxy": "the structured wrapper passes a contiguous proxy and copies it to the real output",
    "caller_fresh": "every caller passes a tensor that it has just allocated, contiguous and at offset 0",
    "unreachable": "no operator reaches this code",
}
MACOS = {"<15": "before 15", ">=15": "15 and later", "all": "every version"}
CARET = {
    "lost": "the result goes into a copy of this tensor, and the copy is thrown away",
    "misplaced": "the result is written densely from the start of this tensor's buffer",
}
LABEL_WIDTH = 9
OPS_LINES = 2

Sited = TypeVar("Sited", Finding, Cleared, Undecided)
Source = Callable[[str], tuple[str, ...]]


def render(report: ScanReport, tree: Tree, look: Look) -> str:
    """Return ``report`` as text that keeps to ``look.width`` columns."""
    read: dict[str, tuple[str, ...]] = {}

    def source(file: str) -> tuple[str, ...]:
        if file not in read:
            read[file] = read_lines(tree.root / file)
        return read[file]

    lines: list[str] = []
    overloads: Mapping[str, Spelled] = {}
    if report.findings:
        overloads = read_overloads(tree.root) if look.overloads is None else look.overloads
    for file, findings in _by_file(report.findings):
        lines += [_file_heading(file, len(findings), look), ""]
        for finding in findings:
            lines += [*finding_lines(finding, source, overloads, look), ""]
    if look.show_cleared:
        lines += _cleared(report.cleared, look)
    lines += _undecided(report.undecided, look)
    lines += _notices(report.notices, look)
    lines += summary(report, look)
    return "\n".join(lines) + "\n"


def summary(report: ScanReport, look: Look) -> list[str]:
    """Return the closing lines: findings by effect, cleared, undecided, files and seconds."""
    effects = Counter(finding.effect for finding in report.findings)
    counted = ", ".join(f"{count} {effect}" for effect, count in effects.most_common())
    found = count_of(len(report.findings), "finding") + (f" ({counted})" if counted else "")
    head = paint(found, "red" if report.findings else "green", color=look.color)
    rest = (
        f"{len(report.cleared)} cleared, {len(report.undecided)} undecided; "
        f"{count_of(report.files, 'file')}, {count_of(report.sites, 'site')} in {report.seconds:.1f} s "
        f"(torch {report.torch_version})"
    )
    if report.set_aside:
        because = Counter(one.because for one in report.set_aside)
        listed = ", ".join(f"{number} by {name}" for name, number in because.most_common())
        rest += f"; {count_of(len(report.set_aside), 'finding')} set aside ({listed})"
    lines = wrap(f"{found}; {rest}", look.width)
    lines[0] = lines[0].replace(found, head, 1)
    fixable = sum(finding.fixable for finding in report.findings)
    if fixable:
        rules = sorted({finding.rule for finding in report.findings})
        lines += wrap(
            f"`patchkit fix` repairs {fixable} of {len(report.findings)}; `patchkit explain {rules[0]}` says "
            f"why {rules[0]} matters.",
            look.width,
        )
    return lines


def _by_file(items: Iterable[Sited]) -> list[tuple[str, list[Sited]]]:
    ordered = sorted(items, key=lambda item: (item.file, item.line))
    return [(file, list(group)) for file, group in groupby(ordered, key=lambda item: item.file)]


def _file_heading(file: str, findings: int, look: Look) -> str:
    title = f"== {printable(PurePosixPath(file).name)}: {count_of(findings, 'finding')} "
    return paint(title.ljust(look.width, "="), "bold", color=look.color)


def finding_lines(finding: Finding, source: Source, overloads: Mapping[str, Spelled], look: Look) -> list[str]:
    """Return one finding: headline, code frames, and who can hit it."""
    lines = _headline(finding, look)
    place = f"{printable(finding.file)}:{finding.line}:{finding.column}"
    arrow = paint("-->", "blue", color=look.color)
    lines.append(f"  {arrow} {place}")
    lines += _frames(finding, source, look)
    lines.append("")
    lines += _fact("function", f"{finding.function}, tensor `{_one_line(finding.tensor)}`", look)
    lines += _ops(finding.ops, look)
    calls = python_calls(finding.ops, finding.triggers, finding.layouts, overloads)
    for number, call in enumerate(calls or [", ".join(finding.triggers)]):
        lines += _fact("" if number else "python", call, look)
    lines += _fact("macOS", MACOS.get(finding.macos, finding.macos), look)
    if not finding.fixable:
        lines += _fact("fix", f"by hand: {finding.not_fixable_because or 'no template covers it'}", look)
    if finding.confidence != "high":
        lines += _fact("sure", f"{finding.confidence} confidence", look)
    return lines


def _headline(finding: Finding, look: Look) -> list[str]:
    tag = f"{finding.rule} {finding.effect}"
    layouts = ", ".join(finding.layouts)
    lines = wrap(f"{tag} [{layouts}]: {finding.message}", look.width, rest="    ")
    lines = [paint(line, "bold", color=look.color) for line in lines]
    lines[0] = lines[0].replace(tag, paint(tag, "red", color=look.color) + ("\x1b[1m" if look.color else ""), 1)
    return lines


def _frames(finding: Finding, source: Source, look: Look) -> list[str]:
    steps = _numbered(finding.trace)
    here = [step for step in steps if step.file in ("", finding.file)]
    elsewhere = [step for step in steps if step.file not in ("", finding.file)]
    labels = _labels(finding, here, source(finding.file))
    lines = frame(source(finding.file), labels, width=look.width, color=look.color)
    for file, group in groupby(elsewhere, key=lambda step: step.file):
        listed = list(group)
        lines.append(f"  {paint(':::', 'blue', color=look.color)} {printable(file)}:{listed[0].line}")
        others = [_step_label(step, source(file)) for step in listed]
        lines += frame(source(file), others, width=look.width, color=look.color)
    return lines


def _numbered(trace: Sequence[TraceStep]) -> list[TraceStep]:
    """Number the steps where the order of the lines in the frame would not tell their order."""
    lines = [step.line for step in trace]
    if lines == sorted(lines) and len({step.file for step in trace}) < 2:
        return list(trace)
    return [replace(step, text=f"({number}) {step.text}") for number, step in enumerate(trace, 1)]


def _labels(finding: Finding, steps: Sequence[TraceStep], lines: Sequence[str]) -> list[Label]:
    line, column, length = _place_of(finding, lines)
    at_site = [step.text for step in steps if finding.line <= step.line <= finding.end_line]
    main = Label(line, at_site[-1] if at_site else CARET.get(finding.effect, finding.effect), column, length, True)
    others = [step for step in steps if not finding.line <= step.line <= finding.end_line]
    return [main, *(_step_label(step, lines) for step in others)]


def _place_of(finding: Finding, lines: Sequence[str]) -> tuple[int, int, int]:
    """Return line, column and length of the tensor expression, which may stand below the line of the call."""
    expression = finding.tensor.splitlines()[0].strip() if finding.tensor else ""
    for number in range(finding.line, min(max(finding.end_line, finding.line), len(lines)) + 1):
        column = finding.column if number == finding.line else 0
        found = locate(lines[number - 1], expression, column)
        if found:
            return number, *found
    return finding.line, max(1, finding.column), 1


def _step_label(step: TraceStep, lines: Sequence[str]) -> Label:
    """Label the step's line at the expression that its text quotes, or at the function that it names."""
    quoted = [*step.text.split("`")[1::2], *re.findall(r"\w*_\w*", step.text)]
    line = lines[step.line - 1] if 1 <= step.line <= len(lines) else ""
    found = next((place for place in (locate(line, name) for name in quoted) if place), (0, 1))
    return Label(step.line, step.text, *found)


def _ops(ops: Sequence[str], look: Look) -> list[str]:
    """Name as many operators as two lines hold, and count the others."""
    for shown in range(len(ops), 0, -1):
        more = f" and {len(ops) - shown} more" if shown < len(ops) else ""
        lines = _fact("ops", ", ".join(ops[:shown]) + more, look)
        if len(lines) <= OPS_LINES or shown == 1:
            return lines
    return _fact("ops", "none found in native_functions.yaml", look)


def _fact(name: str, text: str, look: Look) -> list[str]:
    first = f"  {name.ljust(LABEL_WIDTH)} "
    lines = wrap(text, look.width, first=first)
    if name and lines:
        lines[0] = lines[0].replace(name, paint(name, "blue", color=look.color), 1)
    return lines


def _cleared(cleared: Sequence[Cleared], look: Look) -> list[str]:
    lines: list[str] = []
    for file, sites in _by_file(cleared):
        lines.append(_list_heading(file, f"{len(sites)} cleared", look))
        for site in sites:
            lines += _site(site, site.reason, site.detail or REASONS.get(site.reason, ""), "green", look)
        lines.append("")
    return lines


def _undecided(undecided: Sequence[Undecided], look: Look) -> list[str]:
    lines: list[str] = []
    for file, sites in _by_file(undecided):
        lines.append(_list_heading(file, f"{len(sites)} undecided", look))
        for site in sites:
            lines += _site(site, "undecided", site.why, "yellow", look)
        lines.append("")
    return lines


def _notices(notices: Sequence[Notice], look: Look) -> list[str]:
    lines: list[str] = []
    for note in notices:
        place = f"{printable(note.file)}:{note.line}" if note.line else printable(note.file)
        said = wrap(f"note: {place}: {note.text}", look.width, rest="    ")
        said[0] = said[0].replace("note", paint("note", "yellow", color=look.color), 1)
        lines += said
    return [*lines, ""] if lines else []


def _list_heading(file: str, counted: str, look: Look) -> str:
    return paint(f"== {printable(PurePosixPath(file).name)}: {counted}", "bold", color=look.color)


def _site(site: Cleared | Undecided, verdict: str, why: str, style: str, look: Look) -> list[str]:
    place = f"{site.line:6}  "
    what = site.function + (f", `{_one_line(site.tensor)}`" if site.tensor else "")
    reason = wrap(f"{verdict}: {why}" if why else verdict, look.width, first=" " * len(place))
    reason[0] = reason[0].replace(verdict, paint(verdict, style, color=look.color), 1)
    return [*wrap(what, look.width, first=place), *reason]


def _one_line(text: str) -> str:
    return " ".join(text.split())
