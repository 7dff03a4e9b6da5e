"""From what a user names (a folder, a version, an archive, a repository) to the tree that others read."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.errors import InputError, NotATreeError, UsageError
from patchkit.source.cache import sealed
from patchkit.source.tree import Tree, open_tree
from patchkit.source.version import best_version, tag_names

if TYPE_CHECKING:
    from patchkit.source.progress import Meter


def resolve(
    target: str | None,
    *,
    version: str | None = None,
    source: str | None = None,
    remote: str | None = None,
    into: Path | None = None,
    full: bool = False,
    quiet: bool = False,
) -> Tree:
    """Return the tree that the user named in exactly one of three ways, fetched or extracted if need be.

    Args:
        target: a folder, which is used as it is and never written to, or an archive file.
        version: ``2.2.1``, a tag, a branch or a commit of ``remote``.
        source: an archive file, or a git URL or local repository, of which the default branch is taken.
        remote: git URL or local repository for ``version``; ``None`` is PATCHKIT_REMOTE or PyTorch's own.
        into: a new or empty folder for the tree instead of the cache.
        full: every file (with submodules from git), as building needs, instead of what scanning reads.
        quiet: no progress on standard error; warnings are still printed there.

    Raises:
        UsageError: none or more than one of the three is given, or ``remote`` or ``into`` does not fit.
        NotATreeError: there is no PyTorch tree with MPS kernels.
        InputError: a folder or archive cannot be read.
        UnknownVersionError: ``remote`` has no such version; the nearest are named.
        SourceError: git failed, there is no network, or the archive is refused.
        OutputError: the cache or ``into`` cannot be written.
    """
    _check(target, version, source, remote)
    from patchkit.source.progress import Meter

    with Meter(quiet=quiet) as meter:
        if version is not None:
            return _from_git(remote, version.strip(), version, into, full, meter)
        if target is not None:
            return _from_path(target, into, full, meter)
        assert source is not None
        return _from_source(source, into, full, meter)


def names_a_source(target: str) -> bool:
    """Say whether ``checkout`` takes ``target`` for a path, an archive or a URL, not for a version or ref.

    A folder called ``main`` or ``2.2.1`` does not hide the branch or the release: ``./main`` names it.
    """
    from patchkit.source.archive import is_archive_name
    from patchkit.source.git import is_git_url

    if target.startswith((".", "/", "~")) or is_git_url(target) or is_archive_name(target):
        return True
    if os.path.isfile(target):  # noqa: PTH113 (it never raises)
        return True
    return os.path.isdir(Path(target, "aten")) and not tag_names(target)  # noqa: PTH112


def _check(target: str | None, version: str | None, source: str | None, remote: str | None) -> None:
    given = [name for name in (target, version, source) if name is not None]
    if not given:
        raise UsageError("No tree was named; give a folder, an archive, --version X.Y.Z or --source ARCHIVE|URL.")
    if len(given) > 1:
        raise UsageError(
            f"More than one tree was named ({', '.join(given)}); give one of TREE, --version and --source."
        )
    if not given[0].strip():
        raise UsageError("The name of the tree is empty; give a folder, an archive, --version X.Y.Z or --source.")
    if remote is not None and version is None:
        raise UsageError("--remote says where --version is looked up; give --version too, or use --source URL.")


def _from_git(remote: str | None, wanted: str, given: str, into: Path | None, full: bool, meter: Meter) -> Tree:
    from patchkit.source.checkout import tree_from_remote
    from patchkit.source.remote import PYTORCH, open_remote

    return tree_from_remote(
        open_remote(remote or os.environ.get("PATCHKIT_REMOTE") or PYTORCH),
        wanted,
        given=given,
        into=into,
        full=full,
        meter=meter,
    )


def _from_source(source: str, into: Path | None, full: bool, meter: Meter) -> Tree:
    from patchkit.source.archive import is_archive_name
    from patchkit.source.git import is_git_url, without_credentials
    from patchkit.source.remote import DEFAULT_BRANCH

    path = _path(source)
    if path.is_dir() and (path / "HEAD").is_file() and (path / "objects").is_dir():
        return _from_git(source, DEFAULT_BRANCH, source, into, full, meter)
    shown = without_credentials(source)
    if path.exists() or not is_git_url(source):
        return _from_path(source, into, full, meter)
    if is_archive_name(source.partition("?")[0]):
        raise UsageError(f"{shown} is an archive on the network; download it and give the file.")
    return _from_git(source, DEFAULT_BRANCH, shown, into, full, meter)


def _from_path(target: str, into: Path | None, full: bool, meter: Meter) -> Tree:
    path = _path(target)
    if path.exists() and not path.is_dir():
        from patchkit.source.archive import tree_from_archive

        return tree_from_archive(path, given=target, into=into, full=full, meter=meter)
    if not path.exists() and tag_names(target):
        raise NotATreeError(f"There is no folder or archive {target} here; for the release give --version {target}.")
    tree = open_tree(path, given=target)
    if into is not None:
        raise UsageError(f"{target} is a folder and is used as it is; --into is for versions and archives.")
    facts = sealed(path.absolute())
    if facts is not None:
        version = best_version(tree.version, facts["names"].splitlines())
        return replace(tree, version=version, commit=facts.get("commit"), cached=True)
    commit, tags = _checked_out(path)
    version = best_version(tree.version, [*tags, _folder_name(path)])
    return replace(tree, version=version, commit=commit)


def _path(name: str) -> Path:
    try:
        path = Path(name).expanduser()
        path.exists()
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"'{name}' cannot be a path ({error}).") from error
    return path


def _folder_name(path: Path) -> str:
    try:
        return path.resolve().name
    except (OSError, RuntimeError):
        return path.name


def _checked_out(path: Path) -> tuple[str | None, list[str]]:
    """Return the commit of a git working tree and the tags on it, or ``None`` and none."""
    if not (path / ".git").exists():
        return None, []
    from patchkit.errors import PatchkitError
    from patchkit.source.git import git

    ask = ["log", "-1", "--no-show-signature", "--decorate-refs=refs/tags/*", "--format=%H %D", "HEAD"]
    try:
        commit, _, tags = git(ask, folder=path, remote=str(path)).partition(" ")
    except PatchkitError:  # no git, no commit yet, or another user's repository: it is a tree all the same
        return None, []
    return commit, tags.split(", ")
