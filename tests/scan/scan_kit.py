"""Small PyTorch trees around kernels written for the tests, and what a scan must say of them.

A kernel file in ``kernels/`` begins with ``// dialects: 2.2 2.6``: the releases whose interface it is scanned with. Its
entries of ``native_functions.yaml`` stand in comments before the kernels. A line that hands a tensor to a result
Placeholder ends in what the scan must say of it, once for all dialects or with the dialects it holds for::

    // expect: lost strided,offset out
    // expect: lost * out,inplace; 2.6: misplaced * >=15 out; 2.15: cleared strides_honoured

``*`` is every layout. The macOS range is that of the dialect's own Placeholder where none is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from patchkit.scan.findings import ScanReport
from patchkit.source.tree import MPS_FOLDER, NATIVE_FUNCTIONS, Tree, open_tree

KERNELS = Path(__file__).parent / "kernels"
DIALECTS = {"1.13": "all", "2.2": "all", "2.4": "all", "2.6": "<15", "2.15": "all"}
LAYOUTS = ("strided", "channels_last", "offset")
_DEFINED = re.compile(r"TORCH_IMPL_FUNC\((\w+)\)|(?=\w)[\w:<>, ]+[&*]? (\w+)\(")
_EXPECT = re.compile(r"/[/*] expect: (.*?)(?: \*/.*)?$")


@dataclass(frozen=True)
class Expected:
    """What a scan must say of one graph result of one kernel file, in one dialect."""

    file: str
    dialect: str
    line: int
    function: str
    verdict: str
    detail: str = ""
    layouts: frozenset[str] = frozenset()
    macos: str = ""
    triggers: frozenset[str] = frozenset()

    def __str__(self) -> str:
        parts = (self.verdict, self.detail, ",".join(x for x in LAYOUTS if x in self.layouts), self.macos)
        return " ".join(p for p in (*parts, ",".join(sorted(self.triggers))) if p)


@dataclass(frozen=True)
class KernelFile:
    """A kernel file, what it expects, and the trees to scan it in."""

    path: Path
    text: str
    dialects: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.stem

    def native_functions(self) -> str:
        """The entries of ``native_functions.yaml`` in the comments."""
        lines = re.findall(r"^// ?((?:- func:|  ).*)$", self.text, re.MULTILINE)
        return "\n".join(lines) + "\n"

    def expected(self) -> Iterator[Expected]:
        function = ""
        for number, line in enumerate(self.text.splitlines(), 1):
            if started := _DEFINED.match(line):
                function = started[1] or started[2]
            if marked := _EXPECT.search(line):
                yield from self._expected(number, function, marked[1])

    def _expected(self, line: int, function: str, text: str) -> Iterator[Expected]:
        told: dict[str, str] = {}
        for part in text.split(";"):
            dialects, colon, words = part.rpartition(": ")
            for dialect in dialects.split() if colon else self.dialects:
                told[dialect] = words
        assert told.keys() == set(self.dialects), f"{self.path.name}:{line} says nothing of some dialect"
        for dialect, words in told.items():
            yield _parse(Expected(self.path.name, dialect, line, function, ""), words.split())


def _parse(place: Expected, words: list[str]) -> Expected:
    verdict, *rest = words
    if verdict in ("cleared", "undecided"):
        detail = rest[0] if rest else ""
        return Expected(place.file, place.dialect, place.line, place.function, verdict, detail)
    layouts, *rest = rest
    macos = rest.pop(0) if len(rest) > 1 else DIALECTS[place.dialect]
    hit = frozenset(LAYOUTS if layouts == "*" else layouts.split(","))
    triggers = frozenset(rest[0].split(",")) if rest else frozenset[str]()
    return Expected(place.file, place.dialect, place.line, place.function, verdict, "", hit, macos, triggers)


@cache
def kernel_files() -> tuple[KernelFile, ...]:
    """Every kernel file of the tests, in name order."""
    found = []
    for path in sorted(KERNELS.glob("*.mm")):
        text = path.read_text(encoding="utf-8")
        first = re.match(r"// dialects: ([\d. ]+)\n", text)
        assert first, f"{path.name} does not begin with its dialects"
        found.append(KernelFile(path, text, tuple(first[1].split())))
    return tuple(found)


def make_tree(
    root: Path,
    kernels: dict[str, bytes | str],
    native_functions: str,
    dialect: str = "2.6",
    native: dict[str, str] | None = None,
) -> Tree:
    """Write a tree: kernels by file name, the entries that name them, and other files of ``aten/src/ATen/native``."""
    mps = root / MPS_FOLDER
    (mps / "operations").mkdir(parents=True)
    (root / "version.txt").write_text(f"{dialect}.0a0\n")
    (root / NATIVE_FUNCTIONS).write_text(native_functions)
    (mps / "OperationUtils.mm").write_bytes((KERNELS / "dialects" / f"{dialect}.mm").read_bytes())
    for name, content in kernels.items():
        data = content.encode() if isinstance(content, str) else content
        (mps / "operations" / name).write_bytes(data)
    for name, text in (native or {}).items():
        (root / "aten/src/ATen/native" / name).write_text(text)
    return open_tree(root)


def make_kernel_tree(root: Path, file: KernelFile, dialect: str) -> Tree:
    """Write the tree of a kernel file, with the meta functions and composites of the ``.cpp`` file of that name."""
    beside = file.path.with_suffix(".cpp")
    native = {beside.name: beside.read_text(encoding="utf-8")} if beside.exists() else {}
    return make_tree(root, {file.path.name: file.text}, file.native_functions(), dialect, native)


def said(report: ScanReport, expected: Expected) -> str:
    """What a report says of the line of an expectation, in the words of an expectation."""
    found: list[str] = []
    at = (expected.file, expected.line)
    for f in report.findings:
        if (f.file.rpartition("/")[2], f.line) == at:
            told = (f.file, "", f.line, "", f.effect, "", frozenset(f.layouts), f.macos, frozenset(f.triggers))
            found.append(str(Expected(*told)))
    for c in report.cleared:
        if (c.file.rpartition("/")[2], c.line) == at:
            found.append(f"cleared {c.reason}" if expected.detail else "cleared")
    for u in report.undecided:
        if (u.file.rpartition("/")[2], u.line) == at:
            found.append("undecided")
    return " and ".join(found) or "nothing"
