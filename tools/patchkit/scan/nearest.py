"""The safe kernel of the same tree that is most like one with a finding, and the lines in which the two differ.

That comparison is how such a defect is understood: what does a kernel do that keeps its output?
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from patchkit.scan.findings import Cleared, Finding, ScanReport
from patchkit.scan.sources import Sources, load_sources
from patchkit.scan.syntax import Function
from patchkit.source.tree import Tree

# A kernel that repairs what would be lost shows more than one whose output can never be lost.
_TELLING = ("copy_back",)
# What of a kernel decides where its result goes.
_DECIDES = re.compile(
    r"Placeholder\b|\.copy_\(|is_contiguous|needsGather|needs_gather|is_view|storage_offset|empty_like|\bempty\(|"
    r"\.contiguous\(|getMPSGraphTensorData|getTensorsArray|mtl_set|setBuffer"
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_TOKEN = re.compile(r"[A-Za-z_]\w*|\S")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Kernel:
    """A function with a graph result.

    Args:
        function, file: its name, and its file relative to the tree.
        line, end_line: its first and last line, 1-based.
        site: the line of the result.
        tensor: what the Placeholder takes there.
        differs: lines that decide where the result goes and that the other kernel has no match for.
    """

    function: str
    file: str
    line: int
    end_line: int
    site: int
    tensor: str
    differs: tuple[int, ...]


@dataclass(frozen=True)
class Comparison:
    """A kernel with a finding and the nearest safe one, with why that one is safe; ``alike`` is between 0 and 1."""

    unsafe: Kernel
    safe: Kernel
    reason: str
    alike: float


def nearest_safe(tree: Tree, report: ScanReport, finding: Finding) -> Comparison | None:
    """Return the comparison for ``finding``; ``None`` where the tree has no safe kernel, or the function is not found.

    Args:
        tree: the tree; it is only read.
        report: the scan of it.
        finding: one of the report's.
    """
    sources = load_sources(tree.root)
    unsafe = _holder(sources, finding.file, finding.function, finding.line)
    if unsafe is None:
        return None
    bad = {(one.file, one.function) for one in report.findings}
    bad |= {(one.file, one.function) for one in report.undecided}
    safe = [one for one in report.cleared if (one.file, one.function) not in bad and one.tensor]
    wanted = _shape(unsafe)
    best: tuple[tuple[bool, float], Cleared, Function] | None = None
    for site in safe:
        function = _holder(sources, site.file, site.function, site.line)
        if function is None:
            continue
        rank = (site.reason in _TELLING, _alike(wanted, _shape(function)))
        if best is None or rank > best[0]:
            best = rank, site, function
    if best is None:
        return None
    (_, alike), site, function = best
    mine = _deciding(sources, unsafe, finding.tensor)
    theirs = _deciding(sources, function, site.tensor)
    return Comparison(
        _kernel(sources, unsafe, finding.line, finding.tensor, _unmatched(mine, theirs)),
        _kernel(sources, function, site.line, site.tensor, _unmatched(theirs, mine)),
        site.detail or site.reason,
        round(alike, 2),
    )


def _holder(sources: Sources, file: str, name: str, line: int) -> Function | None:
    """The function of this name that holds a line; one that a macro writes lies at the macro."""
    named = [one for one in sources.functions.get(name, ()) if one.file == file]
    for function in named:
        first, last = _lines(sources, function)
        if first <= line <= last:
            return function
    return named[0] if named else None


def _lines(sources: Sources, function: Function) -> tuple[int, int]:
    position = sources.position
    return position(function.file, function.start)[0], position(function.file, max(function.start, function.end - 1))[0]


def _kernel(sources: Sources, function: Function, site: int, tensor: str, differs: Sequence[int]) -> Kernel:
    first, last = _lines(sources, function)
    return Kernel(function.name, function.file, first, last, site, tensor, tuple(differs))


def _shape(function: Function) -> Counter[tuple[str, str]]:
    """Pairs of neighbouring tokens, which tell what a kernel does whatever its length."""
    tokens = _TOKEN.findall(_COMMENT.sub(" ", function.text.decode("utf-8", "replace")))
    return Counter(pairwise(tokens))


def _alike(one: Counter[tuple[str, str]], other: Counter[tuple[str, str]]) -> float:
    either = sum((one | other).values())
    return sum((one & other).values()) / either if either else 0.0


def _deciding(sources: Sources, function: Function, tensor: str) -> list[tuple[int, str]]:
    """Lines that decide where the result goes: number, and text with the result's own names made equal."""
    names = _result_names(function, tensor)
    first, last = _lines(sources, function)
    source = sources.files[function.file].source.decode("utf-8", "replace").split("\n")
    out = []
    for number in range(first, min(last, len(source)) + 1):
        code = _COMMENT.sub("", source[number - 1])
        if _DECIDES.search(code) and names & set(_WORD.findall(code)):
            plain = _WORD.sub(lambda word: "RESULT" if word[0] in names else word[0], code)
            out.append((number, "".join(plain.split())))
    return out


def _result_names(function: Function, tensor: str) -> set[str]:
    """The names that a result goes by: those in the expression, what they were made from, and what takes them."""
    text = function.text.decode("utf-8", "replace")
    text = _COMMENT.sub(" ", text)
    skip = {"at", "Tensor", "true", "false", "nil", "const", "auto", "MemoryFormat", "Contiguous", "empty_like"}
    names = {word for word in _WORD.findall(tensor) if word not in skip}
    for copied, source in re.findall(r"([A-Za-z_]\w*)\.copy_\(\s*([A-Za-z_]\w*)", text):
        if source in names:
            names.add(copied)
    for made, value in re.findall(r"\b(?:Tensor|auto|bool)\s*&?\s*([A-Za-z_]\w*)\s*=\s*([^;]*);", text):
        if names & set(_WORD.findall(value)) and _DECIDES.search(value) and "Placeholder" not in value:
            names.add(made)
    return names


def _unmatched(lines: Sequence[tuple[int, str]], others: Sequence[tuple[int, str]]) -> list[int]:
    """The lines that the other kernel lacks, each of the other's matching once."""
    left = Counter(text for _, text in others)
    out = []
    for number, text in lines:
        if left[text]:
            left[text] -= 1
        else:
            out.append(number)
    return out
