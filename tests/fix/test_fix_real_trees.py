"""Real releases: every finding is fixed or listed, the series applies, and the fixed tree scans clean."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from patchkit.fix import FixResult, fix_tree
from patchkit.fix.edits import is_fixable
from patchkit.fix.edits.verify import unreadable_parts
from patchkit.scan import analyse
from patchkit.scan.report import findings_of
from patchkit.source.tree import MPS_FOLDER, NATIVE_FUNCTIONS, Tree, open_tree

pytestmark = pytest.mark.real_tree

TREES = Path(os.environ.get("PATCHKIT_TREES", "")) / "src"
VERSIONS = ("1.13.1", "2.6.0")
#: Kernels that the form upstream takes must cover: PR 124442 and PR 165267, and what it came from.
KNOWN = {"1.13.1": ("addc_mul_div_out_mps", "random_mps_impl", "unary_op"), "2.6.0": ("random_mps_impl",)}


@dataclass(frozen=True)
class Fixed:
    version: str
    original: Path
    patched: Path
    series: Path
    result: FixResult
    found: int


@pytest.fixture(scope="module", params=VERSIONS)
def fixed(request, tmp_path_factory):
    root = TREES / request.param
    if not (root / MPS_FOLDER).is_dir():
        pytest.skip("PATCHKIT_TREES does not name the real trees")
    folder = tmp_path_factory.mktemp(request.param)
    original, patched = folder / "original", folder / "patched"
    _copy(root, original)
    shutil.copytree(original, patched)
    tree = Tree(original, request.param, request.param)
    result = fix_tree(tree, folder / "series")
    found = len(findings_of(analyse(tree))[0])
    for name in (folder / "series" / "series").read_text().split():
        _run("patch", "-p1", "--fuzz=0", "-s", "-i", str(folder / "series" / name), cwd=patched)
    return Fixed(request.param, original, patched, folder / "series", result, found)


def _copy(root: Path, target: Path) -> None:
    """What a scan reads of a release."""
    native = Path(NATIVE_FUNCTIONS).parent
    shutil.copytree(root / native, target / native)
    for name in ("version.txt", ".clang-format"):
        if (root / name).is_file():
            shutil.copyfile(root / name, target / name)


def _run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _kernels(fixed: Fixed) -> set[str]:
    refused = {finding.fingerprint for finding, _ in fixed.result.not_fixed}
    found = findings_of(analyse(open_tree(fixed.original)))[0]
    return {finding.function for finding in found if finding.fingerprint not in refused}


def test_every_finding_is_fixed_or_listed_with_a_reason(fixed):
    patched = [fingerprint for patch in fixed.result.patches for fingerprint in patch.findings]
    listed = [finding.fingerprint for finding, reason in fixed.result.not_fixed if reason]
    assert len(patched) + len(listed) == len(set(patched) | set(listed)) == fixed.found
    assert len(patched) >= 0.9 * fixed.found


def test_the_known_upstream_cases_are_fixed(fixed):
    assert set(KNOWN[fixed.version]) <= _kernels(fixed)


def test_git_accepts_each_patch_in_turn(fixed, tmp_path):
    shutil.copytree(fixed.original, tmp_path / "tree")
    _run("git", "init", "-q", cwd=tmp_path / "tree")
    for name in (fixed.series / "series").read_text().split():
        _run("git", "apply", "--check", str(fixed.series / name), cwd=tmp_path / "tree")
        _run("git", "apply", str(fixed.series / name), cwd=tmp_path / "tree")
    assert _sources(tmp_path / "tree") == _sources(fixed.patched)


def test_reversing_gives_back_the_original_bytes(fixed, tmp_path):
    shutil.copytree(fixed.patched, tmp_path / "tree")
    for name in reversed((fixed.series / "series").read_text().split()):
        _run("patch", "-R", "-p1", "--fuzz=0", "-s", "-i", str(fixed.series / name), cwd=tmp_path / "tree")
    assert _sources(tmp_path / "tree") == _sources(fixed.original)


def _sources(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted((root / MPS_FOLDER).rglob("*")) if p.is_file()}


def test_the_fixed_tree_has_no_part_more_that_the_parser_cannot_read(fixed):
    for patch in fixed.result.patches:
        for change in patch.changes:
            assert unreadable_parts(change.after) <= unreadable_parts(change.before), change.path


def test_a_rescan_finds_nothing_fixable_and_nothing_new(fixed):
    engine = analyse(open_tree(fixed.patched))
    left = findings_of(engine)[0]
    assert len(left) == len(fixed.result.not_fixed)
    assert {f.fingerprint for f in left} == {f.fingerprint for f, _ in fixed.result.not_fixed}
    places = {(s.file, *engine.sources.position(s.file, s.start)): s for s in engine.sites.values()}
    for finding in left:
        assert not is_fixable(engine, places[finding.file, finding.line, finding.column])[0], finding.function


def test_a_second_fix_makes_no_patch(fixed):
    assert fix_tree(open_tree(fixed.patched), check=True).patches == ()


def test_no_new_line_is_longer_than_its_neighbours(fixed):
    for patch in fixed.result.patches:
        for change in patch.changes:
            before = set(change.before.splitlines())
            longest = max([120, *map(len, before)])
            assert all(len(line) <= longest for line in change.after.splitlines() if line not in before)


def test_clang_format_leaves_the_new_lines_as_they_are(fixed):
    tool = shutil.which("clang-format")
    if tool is None:
        pytest.skip("clang-format is not installed")
    formatted = 0
    for patch in fixed.result.patches:
        for change in patch.changes:
            if not _is_formatted(tool, fixed.original, change.path, change.before):
                continue  # hand-formatted upstream: the new lines follow their neighbours
            lines = [f"--lines={first}:{last}" for first, last in _new_lines(change.before, change.after)]
            assert _formatted(tool, fixed.original, change.path, change.after, lines) == change.after, change.path
            formatted += 1
    assert formatted or fixed.version == "1.13.1"


def _is_formatted(tool: str, root: Path, path: str, content: bytes) -> bool:
    """Whether clang-format would change no more than a few lines: versions of it differ in details."""
    after = _formatted(tool, root, path, content, []).splitlines()
    return sum(len(lines) for lines in _changed(content.splitlines(), after)) <= 0.02 * len(after)


def _changed(before: list[bytes], after: list[bytes]) -> list[list[bytes]]:
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [after[j1:j2] for tag, _, _, j1, j2 in codes if tag in ("insert", "replace")]


def _new_lines(before: bytes, after: bytes) -> list[tuple[int, int]]:
    codes = SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False).get_opcodes()
    return [(j1 + 1, j2) for tag, _, _, j1, j2 in codes if tag in ("insert", "replace")]


def _formatted(tool: str, root: Path, path: str, content: bytes, lines: list[str]) -> bytes:
    style = f"--style=file:{root / '.clang-format'}"
    command = [tool, "--assume-filename", str(root / path), style, *lines]
    return subprocess.run(command, input=content, capture_output=True, check=True).stdout
