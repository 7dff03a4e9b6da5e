"""Applying in a git checkout: uncommitted changes are safe, and git is only asked, never run by the tree."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import series_kit as kit

from patchkit.errors import PatchError
from patchkit.fix.apply import apply_series
from patchkit.fix.base import describe_base
from patchkit.fix.diff import FileChange
from patchkit.fix.git import committed_blobs, head_commit
from patchkit.source.tree import open_tree

BEFORE, AFTER, PATCHES = kit.two_file_patches()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    kit.write(tmp_path / "out", PATCHES)
    return tmp_path / "out"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return kit.make_repository(tmp_path / "tree", {**BEFORE, "other.txt": b"1\n"})


def test_a_clean_checkout_is_patched_and_nothing_is_committed(out: Path, repository: Path) -> None:
    apply_series(out, repository)
    status = kit.run(["git", "status", "--porcelain"], repository).stdout.decode()
    assert status == f" M {kit.RANDOM}\n M {kit.UNARY}\n"


def test_what_was_applied_and_not_committed_can_be_reversed(out: Path, repository: Path) -> None:
    apply_series(out, repository)
    apply_series(out, repository, reverse=True)
    assert kit.run(["git", "status", "--porcelain"], repository).stdout == b""


def test_what_git_am_committed_counts_as_applied_and_can_be_reversed(out: Path, repository: Path) -> None:
    kit.run(["git", "am", "-q", *sorted(out.glob("*.patch"))], repository)
    assert apply_series(out, repository).action == "already-applied"
    apply_series(out, repository, reverse=True)
    assert kit.snapshot(repository) == {**BEFORE, "other.txt": b"1\n"}


def test_uncommitted_changes_in_a_file_to_be_patched_are_refused(out: Path, repository: Path) -> None:
    edited = b"// mine\n" + BEFORE[kit.UNARY]
    (repository / kit.UNARY).write_bytes(edited)
    before = kit.snapshot(repository)
    with pytest.raises(PatchError, match=rf"{kit.UNARY} has uncommitted changes .* use --force"):
        apply_series(out, repository)
    assert kit.snapshot(repository) == before


def test_staged_changes_are_uncommitted_too(out: Path, repository: Path) -> None:
    (repository / kit.UNARY).write_bytes(b"// mine\n" + BEFORE[kit.UNARY])
    kit.run(["git", "add", "-u"], repository)
    with pytest.raises(PatchError, match="uncommitted changes"):
        apply_series(out, repository)


def test_force_patches_on_top_of_uncommitted_changes(out: Path, repository: Path) -> None:
    (repository / kit.UNARY).write_bytes(b"// mine\n" + BEFORE[kit.UNARY])
    apply_series(out, repository, force=True)
    assert (repository / kit.UNARY).read_bytes() == b"// mine\n" + AFTER[kit.UNARY]


def test_edits_on_top_of_an_applied_series_are_not_lost_by_reversing(out: Path, repository: Path) -> None:
    apply_series(out, repository)
    (repository / kit.UNARY).write_bytes(b"// mine\n" + AFTER[kit.UNARY])
    with pytest.raises(PatchError, match="uncommitted changes"):
        apply_series(out, repository, reverse=True)
    apply_series(out, repository, reverse=True, force=True)
    assert (repository / kit.UNARY).read_bytes() == b"// mine\n" + BEFORE[kit.UNARY]


def test_uncommitted_changes_elsewhere_do_not_matter(out: Path, repository: Path) -> None:
    (repository / "other.txt").write_bytes(b"2\n")
    assert apply_series(out, repository).action == "applied"


def test_files_checked_out_with_crlf_are_not_mistaken_for_changed(tmp_path: Path) -> None:
    before = kit.source("sin").replace(b"\n", b"\r\n")
    repository = kit.make_tree(tmp_path / "tree", {kit.UNARY: before, ".gitattributes": b"*.mm text\n"})
    kit.make_repository(repository, {})
    kit.write(tmp_path / "out", [kit.patch("sin", FileChange(kit.UNARY, before, kit.fixed(before, "sin")))])
    assert apply_series(tmp_path / "out", repository).action == "applied"


def test_a_tree_that_another_repository_ignores_is_a_plain_folder(out: Path, tmp_path: Path) -> None:
    kit.make_repository(tmp_path / "work", {".gitignore": b"tree\n"})
    tree = kit.make_tree(tmp_path / "work/tree", BEFORE)
    assert apply_series(out, tree).action == "applied"


def test_a_repository_without_a_commit_is_a_plain_folder(out: Path, tmp_path: Path) -> None:
    tree = kit.make_tree(tmp_path / "tree", BEFORE)
    kit.run(["git", "init", "-q"], tree)
    assert apply_series(out, tree).action == "applied"


def test_a_checkout_is_patched_where_git_is_not_installed(
    out: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert apply_series(out, repository).action == "applied"


def test_a_checkout_that_git_refuses_to_read_is_refused(out: Path, repository: Path) -> None:
    head = (repository / ".git/HEAD").read_text()
    ref = repository / ".git" / head.removeprefix("ref: ").strip()
    ref.write_text("0" * 39 + "1\n")
    with pytest.raises(PatchError, match="git cannot tell"):
        apply_series(out, repository)
    assert apply_series(out, repository, force=True).action == "applied"


def test_commands_in_the_settings_of_a_checkout_are_not_run(out: Path, repository: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    (repository / ".gitattributes").write_text("*.mm filter=trap\n")
    for key in ("core.fsmonitor", "filter.trap.clean", "core.sshCommand", "diff.external", "core.pager"):
        kit.run(["git", "config", key, str(trap)], repository)
    (repository / kit.UNARY).touch()
    apply_series(out, repository)
    assert not (tmp_path / "sprung").exists()


def test_variables_of_a_git_hook_do_not_point_elsewhere(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = kit.make_repository(tmp_path / "other", {"x": b"1\n"})
    expected = head_commit(repository)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert head_commit(repository) == expected
    assert set(committed_blobs(repository, (kit.UNARY, "none.mm"))) == {kit.UNARY}


NATIVE = {"aten/src/ATen/native/native_functions.yaml": b"- func: x\n", "version.txt": b"2.6.0\n"}


def test_the_base_of_a_clean_checkout_is_its_commit(tmp_path: Path) -> None:
    repository = kit.make_repository(tmp_path / "tree", {**BEFORE, **NATIVE})
    base = describe_base(open_tree(repository))
    assert (base.kind, base.commit, base.torch_version) == ("git", head_commit(repository), "2.6.0")


def test_the_base_of_an_edited_checkout_or_a_plain_folder_is_a_hash(tmp_path: Path) -> None:
    repository = kit.make_repository(tmp_path / "tree", {**BEFORE, **NATIVE})
    plain = kit.make_tree(tmp_path / "plain", {**BEFORE, **NATIVE})
    clean = describe_base(open_tree(repository))
    (repository / kit.UNARY).write_bytes(AFTER[kit.UNARY])
    edited, folder = describe_base(open_tree(repository)), describe_base(open_tree(plain))
    assert (edited.kind, edited.commit, folder.kind) == ("hash", None, "hash")
    assert clean.tree_hash == folder.tree_hash != edited.tree_hash


def test_files_outside_the_mps_sources_do_not_change_the_base(tmp_path: Path) -> None:
    tree = kit.make_tree(tmp_path / "plain", {**BEFORE, **NATIVE})
    before = describe_base(open_tree(tree))
    (tree / "setup.py").write_bytes(b"pass\n")
    assert describe_base(open_tree(tree)) == before
