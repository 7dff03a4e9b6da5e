"""A folder as the tree: used as it is, never written to, and refused with a reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from source_kit import Upstream, shell_git, write_tree

from patchkit.errors import InputError, NotATreeError, UsageError
from patchkit.source import resolve


def everything_in(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in folder.rglob("*")
    }


def test_a_folder_is_used_where_it_is(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree")
    tree = resolve(str(root))
    assert (tree.root, tree.given, tree.version, tree.cached) == (root, str(root), "2.2.0", False)


def test_source_takes_a_folder_too(tmp_path: Path) -> None:
    assert resolve(None, source=str(write_tree(tmp_path / "tree"))).root == tmp_path / "tree"


def test_a_folder_and_its_repository_are_not_written_to(upstream: Upstream, tmp_path: Path) -> None:
    before = everything_in(upstream.folder)
    resolve(str(upstream.folder))
    assert everything_in(upstream.folder) == before
    assert not (tmp_path / "cache").exists()


def test_a_git_working_tree_takes_its_release_from_the_tag_on_its_commit(upstream: Upstream) -> None:
    shell_git(upstream.folder, "checkout", "--quiet", "v2.2.1")
    tree = resolve(str(upstream.folder))
    assert (tree.version, tree.commit) == ("2.2.1", upstream.revision("v2.2.1"))


def test_a_git_working_tree_ahead_of_every_tag_takes_version_txt(upstream: Upstream) -> None:
    assert resolve(str(upstream.folder)).version == "2.3.0"


def test_a_repository_without_a_commit_is_still_a_folder(tmp_path: Path) -> None:
    shell_git(tmp_path, "init", "--quiet", str(write_tree(tmp_path / "tree")))
    assert resolve(str(tmp_path / "tree")).commit is None


def test_the_name_of_an_unpacked_tarball_tells_the_patch_release(tmp_path: Path) -> None:
    assert resolve(str(write_tree(tmp_path / "pytorch-v2.2.2"))).version == "2.2.2"


def test_the_current_folder_tells_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_tree(tmp_path / "pytorch-v2.2.2"))
    assert resolve(".").version == "2.2.2"


@pytest.mark.parametrize("make", [lambda path: None, Path.mkdir], ids=["missing", "empty folder"])
def test_what_is_no_tree_has_nothing_to_scan(make: object, tmp_path: Path) -> None:
    assert callable(make)
    make(tmp_path / "tree")
    with pytest.raises(NotATreeError) as error:
        resolve(str(tmp_path / "tree"))
    assert error.value.exit_code == 3


def test_a_release_before_the_mps_backend_says_so(tmp_path: Path) -> None:
    (tmp_path / "old/aten/src/ATen/native").mkdir(parents=True)
    (tmp_path / "old/version.txt").write_text("1.11.0a0\n")
    with pytest.raises(NotATreeError, match=r"torch 1\.11\.0.*from torch 1\.12"):
        resolve(str(tmp_path / "old"))


def test_a_release_where_a_folder_is_expected_says_how_to_name_it() -> None:
    with pytest.raises(NotATreeError, match=r"give --version 2\.2\.1"):
        resolve("2.2.1")


def test_a_loop_of_links_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(NotATreeError, match="symbolic link that leads nowhere"):
        resolve(str(tmp_path / "one"))


def test_a_loop_of_links_inside_a_tree_does_no_harm(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree")
    (root / "aten/src/ATen/native/mps/loop").symlink_to(".")
    (root / "aten/src/ATen/native/one").symlink_to("one")
    assert resolve(str(root)).root == root


def test_a_name_that_no_disk_can_hold_is_an_input_error() -> None:
    with pytest.raises(InputError):
        resolve("x" * 5000)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_an_unreadable_folder_is_an_input_error(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree")
    root.chmod(0)
    try:
        with pytest.raises(InputError, match="cannot be read"):
            resolve(str(root))
    finally:
        root.chmod(0o755)


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (None, {}),
        ("tree", {"version": "2.2.1"}),
        ("tree", {"source": "x.zip"}),
        (None, {"version": "2.2.1", "source": "x.zip"}),
        ("", {}),
        (None, {"version": " "}),
        ("tree", {"remote": "https://example.org/pytorch.git"}),
    ],
)
def test_exactly_one_tree_must_be_named(target: str | None, options: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        resolve(target, **options)  # type: ignore[arg-type]


def test_a_folder_is_not_copied_into_another(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="used as it is"):
        resolve(str(write_tree(tmp_path / "tree")), into=tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
