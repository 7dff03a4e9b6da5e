"""The cache of scans: what it is keyed by, and that nothing it holds can make a scan wrong or fail."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from patchkit.demo import demo_tree_path
from patchkit.scan import cache, scan_tree
from patchkit.scan.cache import own_hash, read_files, scan_cached, scan_with_ops
from patchkit.source.tree import MPS_FOLDER, NATIVE_FUNCTIONS, open_tree

KERNEL = f"{MPS_FOLDER}/operations/PointwiseOps.mm"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PATCHKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "scan"


@pytest.fixture
def tree(tmp_path, folder):
    shutil.copytree(demo_tree_path(), tmp_path / "tree")
    return open_tree(tmp_path / "tree")


@pytest.fixture
def scans(monkeypatch):
    """Counts the real scans."""
    done = []
    real = cache._scan

    def counting(tree, fixable):
        done.append(tree)
        return real(tree, fixable)

    monkeypatch.setattr(cache, "_scan", counting)
    return done


def plain(report):
    return replace(report, seconds=0.0)


def reports(folder):
    return sorted((folder / "reports").glob("*.json"))


def test_the_second_scan_comes_from_the_cache_and_says_the_same(tree, scans):
    first, second = scan_cached(tree), scan_cached(tree)
    assert len(scans) == 1
    assert plain(first) == plain(second) == plain(scan_tree(tree))


def test_a_cached_report_names_the_tree_as_it_was_given_now(tree, scans, tmp_path):
    scan_cached(tree)
    other = shutil.copytree(tree.root, tmp_path / "copy")
    report = scan_cached(open_tree(other, given="elsewhere"))
    assert len(scans) == 1
    assert report.root == "elsewhere"


@pytest.mark.parametrize("path", [KERNEL, NATIVE_FUNCTIONS, "aten/src/ATen/native/PointwiseOps.cpp"])
def test_a_change_of_anything_that_is_read_makes_a_new_scan(tree, scans, path):
    scan_cached(tree)
    with (tree.root / path).open("a") as stream:
        stream.write("\n")
    scan_cached(tree)
    assert len(scans) == 2


def test_a_change_that_keeps_size_and_time_of_a_fresh_file_is_seen(tree, scans):
    path = tree.root / KERNEL
    scan_cached(tree)
    before = path.stat()
    text = path.read_text()
    path.write_text(text.replace("scaled", "scalde"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    scan_cached(tree)
    assert len(scans) == 2


def test_a_new_kernel_file_makes_a_new_scan(tree, scans):
    scan_cached(tree)
    (tree.root / MPS_FOLDER / "operations" / "New.mm").write_text("// empty\n")
    scan_cached(tree)
    assert len(scans) == 2


def test_files_that_were_only_touched_are_not_scanned_again(tree, scans):
    scan_cached(tree)
    os.utime(tree.root / KERNEL, (1, 1))
    scan_cached(tree)
    assert len(scans) == 1


def test_unchanged_files_are_not_read_again(tree, scans, monkeypatch):
    """Files that were written long before the index are trusted by their size and times."""
    monkeypatch.setattr(cache, "_RACY_NS", -(10**12))
    scan_cached(tree)
    read = []
    real = type(tree.root).read_bytes
    monkeypatch.setattr(type(tree.root), "read_bytes", lambda path: read.append(path) or real(path))
    scan_cached(tree)
    assert len(scans) == 1
    assert not [path for path in read if tree.root in path.parents]


def test_without_the_cache_nothing_is_read_from_it_or_written(tree, folder, scans):
    scan_cached(tree, use_cache=False)
    scan_cached(tree, use_cache=False)
    assert len(scans) == 2
    assert not folder.exists()


def damaged():
    yield "empty", lambda data: b""
    yield "cut off", lambda data: data[: len(data) // 2]
    yield "not JSON", lambda data: b"\xff\xfe\x00"
    yield "another shape", lambda data: b"[1, 2]"
    yield "another format", lambda data: data.replace(b"patchkit-scan-cache/1", b"patchkit-scan-cache/0")
    yield "a key too few", lambda data: data.replace(b'"effect"', b'"efect"', 1)
    yield "a wrong type", lambda data: json.dumps({**json.loads(data), "ops": 3}).encode()
    yield "nested deeply", lambda data: b"[" * 100_000


@pytest.mark.parametrize(("what", "damage"), list(damaged()), ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.parametrize("kind", ["reports", "indexes"])
def test_a_damaged_cache_is_as_good_as_none(tree, folder, scans, kind, what, damage):
    expected = plain(scan_cached(tree))
    for path in (folder / kind).glob("*.json"):
        path.write_bytes(damage(path.read_bytes()))
    assert plain(scan_cached(tree)) == expected


def test_a_cache_that_cannot_be_written_is_as_good_as_none(tree, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PATCHKIT_CACHE", str(tmp_path / "file"))
    assert scan_cached(tree).findings


def test_a_tree_that_changes_while_it_is_scanned_is_not_kept(tree, folder, monkeypatch):
    real = cache._scan

    def changing(tree, fixable):
        with (tree.root / KERNEL).open("a") as stream:
            stream.write("\n")
        return real(tree, fixable)

    monkeypatch.setattr(cache, "_scan", changing)
    scan_cached(tree)
    assert reports(folder) == []


def test_another_patchkit_has_other_keys(tree, folder, scans, monkeypatch):
    scan_cached(tree)
    monkeypatch.setattr(cache, "own_hash", lambda: "another")
    scan_cached(tree)
    assert len(scans) == 2


def test_the_own_hash_covers_the_rules_and_the_registry(tmp_path, monkeypatch):
    package = cache.Path(cache.__file__).resolve().parent
    copy = tmp_path / "patchkit"
    shutil.copytree(package.parent, copy, ignore=shutil.ignore_patterns("__pycache__", "demo"))
    monkeypatch.setattr(cache, "__file__", str(copy / "scan" / "cache.py"))
    before = own_hash()
    for path in (
        "scan/registry/meta.py",
        "scan/rules/mps101_lost.py",
        "scan/engine.py",
        "fix/edits/plan.py",
        "source/tree.py",
    ):
        with (copy / path).open("a") as stream:
            stream.write("\n")
        assert own_hash() != before
        before = own_hash()


def test_old_reports_are_removed(tree, folder, monkeypatch):
    monkeypatch.setattr(cache, "KEPT_REPORTS", 2)
    for number in range(4):
        (tree.root / KERNEL).write_text(f"// {number}\n")
        scan_cached(tree)
    assert len(reports(folder)) == 2


def test_the_operators_of_the_tree_and_their_spelling_are_kept(tree):
    for scanned in (scan_with_ops(tree), scan_with_ops(tree)):
        assert "addcmul_" in scanned.ops
        assert "Tensor.addcmul_" in next(one.python for one in scanned.spellings if one.name == "addcmul_")


SPY = """\
import sys
opened = set()
sys.addaudithook(lambda event, args: opened.add(str(args[0])) if event == "open" else None)
from pathlib import Path
from patchkit.fix import is_fixable
from patchkit.scan.cache import _scan
from patchkit.source.tree import open_tree
_scan(open_tree(Path(sys.argv[1])), is_fixable)
print("\\n".join(sorted(path for path in opened if path.startswith(sys.argv[1]))))
"""


def opened_by_a_scan(root):
    done = subprocess.run([sys.executable, "-c", SPY, str(root)], capture_output=True, text=True, check=True)
    found = {line.removeprefix(f"{root}/") for line in done.stdout.splitlines()}
    return {path for path in found if (root / path).is_file()}  # a file that was looked for and is not there is none


def test_every_file_that_a_scan_opens_is_in_the_key(tree):
    opened = opened_by_a_scan(tree.root)
    assert {KERNEL, NATIVE_FUNCTIONS} <= opened
    assert opened <= dict(read_files(tree.root)).keys()


@pytest.mark.real_tree
def test_every_file_that_a_scan_of_a_real_tree_opens_is_in_the_key(release):
    assert opened_by_a_scan(release.tree.root) <= dict(read_files(release.tree.root)).keys()


MODULES = """\
import sys
from pathlib import Path
from patchkit.fix import is_fixable
from patchkit.scan.cache import _scan
from patchkit.source.tree import open_tree
before = set(sys.modules)
_scan(open_tree(Path(sys.argv[1])), is_fixable)
print("\\n".join(name for name in set(sys.modules) - before if name.startswith("patchkit.")))
"""


def test_a_scan_runs_no_code_of_patchkit_that_the_own_hash_leaves_out(tree):
    done = subprocess.run([sys.executable, "-c", MODULES, str(tree.root)], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "patchkit.scan.engine" in loaded
    covered = ("patchkit.scan.", "patchkit.fix.", "patchkit.resources")
    assert [name for name in loaded if not name.startswith(covered)] == []
