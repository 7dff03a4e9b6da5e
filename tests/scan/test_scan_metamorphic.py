"""A kernel that is written differently but means the same gets the same verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from metamorphic_kit import clang_format, commented, reformatted, renamed, reordered, respaced
from scan_kit import KernelFile, kernel_files, make_kernel_tree

from patchkit.scan import analyse
from patchkit.scan.engine import Engine
from patchkit.scan.report import findings_of, unreadable
from patchkit.scan.sources import SourceFile
from patchkit.source.tree import Tree
from tree_kit import Release

Change = Callable[[SourceFile], bytes]
CHANGES: dict[str, Change] = {
    "renamed": renamed,
    "respaced": lambda file: respaced(file.source),
    "commented": lambda file: commented(file.source),
    "reordered": reordered,
}
#: How many of a tree's files clang-format rewrites; it takes half a second for a long one.
SAMPLE = 24


def verdicts(engine: Engine) -> Counter[tuple[str, ...]]:
    """What is said of each graph result, without lines and names of variables."""
    findings, cleared, undecided = findings_of(engine)
    said: Counter[tuple[str, ...]] = Counter()
    for f in findings:
        kind = (f.effect, " ".join(f.layouts), f.macos, " ".join(f.triggers), " ".join(sorted(f.ops)))
        said[(f.file, f.function, "finding", *kind)] += 1
    for c in cleared:
        said[(c.file, c.function, "cleared", c.reason)] += 1
    for u in (*undecided, *unreadable(engine)):
        said[(u.file, u.function, "undecided", u.why.partition(":")[0])] += 1
    return said


def check_same(tree: Tree, before: Engine, change: Change, paths: set[str] | None = None) -> None:
    files = before.sources.files
    replaced = {path: change(file) for path, file in files.items() if paths is None or path in paths}
    assert any(replaced[path] != files[path].source for path in replaced)
    expected, found = verdicts(before), verdicts(analyse(tree, replaced))
    assert sorted((expected - found).elements()) == sorted((found - expected).elements())


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("file", kernel_files(), ids=lambda file: file.name)
def test_our_own_kernels_written_differently(tmp_path: Path, file: KernelFile, name: str) -> None:
    tree = make_kernel_tree(tmp_path / "tree", file, file.dialects[-1])
    check_same(tree, analyse(tree), CHANGES[name])


@pytest.mark.parametrize("file", kernel_files(), ids=lambda file: file.name)
def test_our_own_kernels_formatted_differently(tmp_path: Path, file: KernelFile) -> None:
    program = needed_clang_format()
    tree = make_kernel_tree(tmp_path / "tree", file, file.dialects[-1])
    check_same(tree, analyse(tree), lambda read: reformatted(read.source, program))


@pytest.mark.real_tree
@pytest.mark.parametrize("name", CHANGES)
def test_real_kernels_written_differently(release: Release, name: str) -> None:
    check_same(release.tree, release.engine, CHANGES[name])


@pytest.mark.real_tree
def test_real_kernels_formatted_differently(release: Release) -> None:
    program = needed_clang_format()
    kernels = sorted(path for path, file in release.engine.sources.files.items() if b"runMPSGraph" in file.source)
    step = max(1, len(kernels) // SAMPLE)
    check_same(release.tree, release.engine, lambda read: reformatted(read.source, program), set(kernels[::step]))


def needed_clang_format() -> Path:
    program = clang_format()
    if program is None:
        pytest.skip("clang-format is not installed")
    return program
