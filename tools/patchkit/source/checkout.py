"""Writing the files of a commit: a worktree in the cache, or a repository of its own in the user's folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from patchkit.source.cache import locked, make_room, seal, sealed
from patchkit.source.files import writing
from patchkit.source.git import git
from patchkit.source.into import filling, move_up
from patchkit.source.needed import sparse_patterns
from patchkit.source.progress import Meter
from patchkit.source.remote import Remote, Revision, bare, credentials, find, remembered, settings
from patchkit.source.tree import Tree, open_tree
from patchkit.source.version import best_version

_COMMIT_DIGITS = 16
_EVERYTHING = "/*\n"


def tree_from_remote(remote: Remote, wanted: str, *, given: str, into: Path | None, full: bool, meter: Meter) -> Tree:
    """Check out ``wanted`` and describe the tree.

    Args:
        remote: where it is fetched from.
        wanted: a version, branch, tag or commit; see :func:`patchkit.source.remote.find`.
        given: how the user named it.
        into: a new or empty folder for the tree; without it the cache keeps it for later runs.
        full: every file and submodule, as building needs, instead of what scanning reads.
        meter: shows how far it is.

    Raises:
        UnknownVersionError: the remote has no such version.
        SourceError: git is missing, the remote cannot be reached, or git failed.
        NotATreeError: what was checked out is not PyTorch, or older than the MPS backend.
        OutputError: the cache or ``into`` cannot be written, or the disk is full.
    """
    commit = remembered(remote, wanted)
    if into is None and commit is not None:
        root = _place(remote, commit, full)
        facts = sealed(root)
        if facts is not None and facts["commit"] == commit:
            return _describe(root, given, commit, facts["names"].splitlines(), cached=True)
    if into is None:
        with _cache_of(remote):
            return _cached(remote, find(remote, wanted, meter), given, full, meter)
    with filling(into) as folder:
        with _cache_of(remote):
            revision = find(remote, wanted, meter)
            _own_repository(remote, revision, folder)
        _write_files(remote, revision, folder, full, meter)
        tree = _describe(folder, given, revision.commit, revision.tags)
        move_up(folder, into)
    return replace(tree, root=into)


@contextmanager
def _cache_of(remote: Remote) -> Iterator[None]:
    with locked(remote.folder / "lock"), writing(remote.folder):
        yield


def _place(remote: Remote, commit: str, full: bool) -> Path:
    return remote.folder / "trees" / (commit[:_COMMIT_DIGITS] + ("-full" if full else ""))


def _describe(root: Path, given: str, commit: str, tags: Iterable[str], *, cached: bool = False) -> Tree:
    tree = open_tree(root, given=given)
    return replace(tree, version=best_version(tree.version, tags), commit=commit, cached=cached)


def _cached(remote: Remote, revision: Revision, given: str, full: bool, meter: Meter) -> Tree:
    root = _place(remote, revision.commit, full)
    if sealed(root) is None:
        make_room(root)
        root.parent.mkdir(parents=True, exist_ok=True)
        try:
            _add_worktree(remote, revision, root, full, meter)
            _describe(root, given, revision.commit, revision.tags)
            seal(root, {"commit": revision.commit, "names": "\n".join(revision.tags)})
        except BaseException:
            shutil.rmtree(root, ignore_errors=True)
            raise
    return _describe(root, given, revision.commit, revision.tags, cached=True)


def _add_worktree(remote: Remote, revision: Revision, root: Path, full: bool, meter: Meter) -> None:
    bare(remote, "worktree", "prune")
    bare(remote, "worktree", "add", "--quiet", "--detach", "--no-checkout", str(root), revision.commit)
    _write_files(remote, revision, root, full, meter)


def _write_files(remote: Remote, revision: Revision, root: Path, full: bool, meter: Meter) -> None:
    def run(*arguments: str) -> str:
        return git([*credentials(remote), *arguments], folder=root, remote=remote.shown, progress=meter.step)

    meter.step(f"fetching the files of {revision.commit[:12]} from {remote.shown}")
    patterns = root / run("rev-parse", "--git-path", "info/sparse-checkout")
    patterns.parent.mkdir(parents=True, exist_ok=True)
    patterns.write_text(_EVERYTHING if full else sparse_patterns(), encoding="utf-8")
    run("checkout", "--quiet", "--force", "--progress", "--detach", revision.commit)
    if full:
        meter.step("fetching submodules")
        run("submodule", "update", "--init", "--recursive", "--depth=1", "--jobs=4", "--progress")


def _own_repository(remote: Remote, revision: Revision, folder: Path) -> None:
    """Make a repository in ``folder`` that holds the commit and stays whole when the cache is emptied."""

    def run(*arguments: str) -> str:
        return git(arguments, folder=folder, remote=remote.shown)

    run("init", "--quiet", "--template=", ".")
    for key, value in settings(remote):
        run("config", key, value)
    _link_objects(remote.repository / "objects", folder / ".git/objects")
    shallow = remote.repository / "shallow"
    if shallow.exists():
        shutil.copyfile(shallow, folder / ".git/shallow")
    if revision.ref.startswith("refs/tags/"):
        run("update-ref", revision.ref, bare(remote, "rev-parse", revision.ref))
    elif revision.ref.startswith("refs/heads/"):
        name = revision.ref.removeprefix("refs/heads/")
        run("update-ref", f"refs/remotes/origin/{name}", revision.commit)


def _link_objects(source: Path, target: Path) -> None:
    """Hard-link git's object files, which git never changes in place; copy them where the disks differ."""
    for folder, _, names in os.walk(source):
        there = target / Path(folder).relative_to(source)
        there.mkdir(parents=True, exist_ok=True)
        for name in names:
            try:
                os.link(Path(folder, name), there / name)
            except OSError:
                shutil.copy2(Path(folder, name), there / name)
