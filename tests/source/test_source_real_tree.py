"""The orig tarballs of Debian's pytorch packages, as ``ci/fetch-debian-trees.sh`` downloads them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from source_kit import Upstream, shell_git

from patchkit.source import resolve
from patchkit.source.needed import is_needed
from patchkit.source.tree import MPS_FOLDER, NATIVE_FUNCTIONS

pytestmark = pytest.mark.real_tree
RELEASES = [("bookworm", "1.13.1"), ("trixie", "2.6.0")]


def tarball(suite: str) -> Path:
    trees = os.environ.get("PATCHKIT_TREES")
    found = sorted(Path(trees, suite).glob("pytorch_*.orig.tar.xz")) if trees else []
    if not found:
        pytest.skip(f"PATCHKIT_TREES names no folder that holds {suite}/pytorch_*.orig.tar.xz")
    return found[0]


def files_under(root: Path) -> set[str]:
    paths = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.relative_to(root).parts)
    return {path.relative_to(root).as_posix() for path in paths}


@pytest.mark.parametrize(("suite", "release"), RELEASES)
def test_a_debian_tarball_gives_the_tree_of_its_release(suite: str, release: str) -> None:
    tree = resolve(str(tarball(suite)))
    assert tree.version == release
    assert (tree.root / NATIVE_FUNCTIONS).is_file()
    assert len(list((tree.root / MPS_FOLDER / "operations").glob("*.mm"))) > 20
    assert all(is_needed(path) for path in files_under(tree.root))


@pytest.mark.parametrize(("suite", "release"), RELEASES[:1])
def test_extracting_all_of_it_gives_what_tar_gives(suite: str, release: str, tmp_path: Path) -> None:
    (tmp_path / "tar").mkdir()
    subprocess.run(
        ["tar", "-xJf", str(tarball(suite)), "-C", str(tmp_path / "tar"), "--strip-components=1"], check=True
    )
    tree = resolve(str(tarball(suite)), into=tmp_path / "patchkit")
    assert tree.version == release
    assert subprocess.run(["diff", "-r", "--no-dereference", tmp_path / "tar", tree.root], check=False).returncode == 0


def test_the_archive_and_a_sparse_checkout_hold_the_same_files(tmp_path: Path, own_settings: Path) -> None:
    suite, release = RELEASES[-1]
    whole = resolve(str(tarball(suite)), into=tmp_path / "whole").root
    own_settings.write_text(own_settings.read_text() + "[core]\n\tcompression = 0\n")
    shell_git(whole, "init", "--quiet")
    shell_git(whole, "add", "--all", "--force")
    shell_git(whole, "commit", "--quiet", "-m", release)
    shell_git(whole, "tag", f"v{release}")
    checked_out = resolve(None, version=release, remote=Upstream(whole).url)
    extracted = resolve(str(tarball(suite)))
    assert files_under(checked_out.root) == files_under(extracted.root)
    assert checked_out.version == extracted.version == release
