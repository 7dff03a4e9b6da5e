"""A git remote and its partial copy in the cache: which commit a version, branch or commit name stands for.

Fetches are shallow and without blobs: one commit and its folders. A checkout gets the blobs of the files it
writes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import SourceError, UnknownVersionError
from patchkit.source.cache import cache_folder, warn
from patchkit.source.files import remove, scratch, write_whole
from patchkit.source.git import GitError, NoNetworkError, git, is_git_url, without_credentials
from patchkit.source.progress import Meter
from patchkit.source.version import nearest, release_in, tag_names

PYTORCH = "https://github.com/pytorch/pytorch.git"
DEFAULT_BRANCH = "HEAD"

_REF_NAME = re.compile(r"(?!.*(?:\.\.|@\{|//))[A-Za-z0-9_][\w./+@=#-]*", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_FULL_COMMIT = re.compile(r"[0-9a-f]{40}")
_BOT_REFS = ("ciflow/", "gh/", "trunk/")


@dataclass(frozen=True)
class Remote:
    """Where trees are fetched from: ``url`` for git, ``shown`` for messages, ``folder`` in the cache."""

    url: str
    shown: str
    folder: Path

    @property
    def repository(self) -> Path:
        """The bare partial repository that all worktrees of this remote share."""
        return self.folder / "repo.git"


@dataclass(frozen=True)
class Revision:
    """A commit, the full name of the ref that led to it, and its tags, the one asked for first."""

    commit: str
    ref: str
    tags: tuple[str, ...]


def open_remote(given: str) -> Remote:
    """Describe the remote that the user named: a URL, ``user@host:path``, or the path of a local repository.

    Raises:
        SourceError: it is neither.
    """
    path = os.path.expanduser(given)  # noqa: PTH111 (it never raises)
    if os.path.isdir(path):  # noqa: PTH112 (it never raises)
        url = Path(path).resolve().as_uri()
        shown = given
    elif is_git_url(given):
        url = given
        shown = without_credentials(given)
    else:
        raise SourceError(f"'{given}' is neither a git URL nor a local repository.")
    name = re.sub(r"[^\w.-]+", "-", "-".join(shown.removesuffix(".git").rstrip("/").split("/")[-2:])).strip("-.")
    key = hashlib.sha256(without_credentials(url).encode()).hexdigest()[:10]
    return Remote(url, shown, cache_folder() / "git" / f"{name}-{key}")


def remembered(remote: Remote, wanted: str) -> str | None:
    """Return the commit of a release tag fetched before, or ``wanted`` if it is a full commit."""
    if _FULL_COMMIT.fullmatch(wanted):
        return wanted
    tags = _remembered_tags(remote)
    return next((tags[tag] for tag in tag_names(wanted) if tag in tags), None)


def find(remote: Remote, wanted: str, meter: Meter) -> Revision:
    """Fetch what ``wanted`` names (not its files) and return its commit; the caller holds the remote's lock.

    Args:
        remote: where to look.
        wanted: ``2.2.1``, ``v2.2.1``, a branch, a tag, a full ref name, a commit, or ``HEAD``.
        meter: shows how far it is.

    Raises:
        UnknownVersionError: the remote has no such thing; the message names the nearest.
        NoNetworkError: the remote cannot be reached and the cache does not hold it.
        SourceError: git failed.
    """
    _prepare(remote)
    if not _REF_NAME.fullmatch(wanted):
        raise UnknownVersionError(f"'{wanted}' cannot be the name of a version, branch, tag or commit.")
    if _FULL_COMMIT.fullmatch(wanted):
        return _full_commit(remote, wanted, meter)
    for ref in _refs(wanted):
        commit = _ref(remote, ref, meter)
        if commit is not None:
            return _revision(remote, commit, ref)
    commit = _abbreviated(remote, wanted) if _COMMIT.fullmatch(wanted) else None
    if commit is not None:
        return _full_commit(remote, commit, meter)
    return _look_among_all(remote, wanted, meter)


def bare(remote: Remote, *arguments: str, meter: Meter | None = None) -> str:
    """Run git in the remote's bare repository; see :func:`patchkit.source.git.git`."""

    def progress(label: str, done: int, total: int) -> None:
        if meter is not None:
            meter.step(f"{label.lower()} from {remote.shown}", done, total)

    place = ["--git-dir", str(remote.repository)]
    return git([*place, *arguments], folder=remote.repository, remote=remote.shown, progress=progress)


def settings(remote: Remote) -> Iterator[tuple[str, str]]:
    """Give the configuration of a repository that fetches blobs from ``remote`` when it needs them."""
    yield "core.repositoryFormatVersion", "1"
    yield "extensions.partialClone", "origin"
    yield "remote.origin.url", without_credentials(remote.url)
    yield "remote.origin.promisor", "true"
    yield "remote.origin.partialCloneFilter", "blob:none"
    yield "core.sparseCheckout", "true"
    yield "core.sparseCheckoutCone", "false"


def credentials(remote: Remote) -> list[str]:
    """Return the git options that put a URL's user and password back, which are never written to disk."""
    plain = without_credentials(remote.url)
    return [] if plain == remote.url else ["-c", f"url.{remote.url}.insteadOf={plain}"]


def _refs(wanted: str) -> list[str]:
    if wanted == DEFAULT_BRANCH or wanted.startswith("refs/"):
        return [wanted]
    releases = [f"refs/tags/{tag}" for tag in tag_names(wanted)]
    return list(dict.fromkeys([*releases, f"refs/heads/{wanted}", f"refs/tags/{wanted}"]))


def _kept_as(ref: str) -> str:
    if ref.startswith("refs/tags/"):
        return ref
    if ref == DEFAULT_BRANCH:
        return "refs/remotes/origin/HEAD"
    if ref.startswith("refs/heads/"):
        return "refs/remotes/origin/" + ref.removeprefix("refs/heads/")
    return "refs/patchkit/" + ref.removeprefix("refs/")


def _ref(remote: Remote, ref: str, meter: Meter) -> str | None:
    """Fetch one ref; ``None`` if the remote lacks it. A release tag that is here is not asked for again."""
    kept = _commit_of(remote, _kept_as(ref))
    if kept is not None and ref.startswith("refs/tags/") and release_in(ref):
        return kept
    try:
        _fetch(remote, f"+{ref}:{_kept_as(ref)}", meter)
    except NoNetworkError as error:
        if kept is None:
            raise _offline(remote, error) from error
        warn(f"{error} The copy of '{ref.split('/')[-1]}' fetched earlier is used ({kept[:12]}).")
        return kept
    except GitError as error:
        if "couldn't find remote ref" in error.said:
            return None
        raise
    return _commit_of(remote, _kept_as(ref))


def _full_commit(remote: Remote, commit: str, meter: Meter) -> Revision:
    if _commit_of(remote, commit) is None:
        try:
            _fetch(remote, commit, meter)
        except NoNetworkError as error:
            raise _offline(remote, error) from error
        except GitError as error:
            if re.search(r"not our ref|unadvertised object|couldn't find remote ref", error.said):
                raise UnknownVersionError(f"{remote.shown} has no commit {commit}.") from error
            raise
    return _revision(remote, commit, commit)


def _look_among_all(remote: Remote, wanted: str, meter: Meter) -> Revision:
    """List the remote's refs, which is slow on PyTorch's, to complete a short commit or to suggest a name."""
    meter.step(f"looking for '{wanted}' among the tags and branches of {remote.shown}")
    names: dict[str, str] = {}
    for line in bare(remote, *credentials(remote), "ls-remote", "--heads", "--tags", "origin").splitlines():
        commit, _, ref = line.partition("\t")
        names[ref.removesuffix("^{}")] = commit
    if _COMMIT.fullmatch(wanted):
        commits = {commit for commit in names.values() if commit.startswith(wanted)}
        if len(commits) == 1:
            return _full_commit(remote, commits.pop(), meter)
    raise _unknown(remote, wanted, names)


def _unknown(remote: Remote, wanted: str, refs: dict[str, str]) -> UnknownVersionError:
    names = [ref.split("/", 2)[2] for ref in refs if ref.count("/") >= 2]
    near = nearest(wanted, (name for name in names if not name.startswith(_BOT_REFS)))
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    elif _COMMIT.fullmatch(wanted):
        hint = "give a commit with all its 40 digits."
    else:
        hint = "give a version such as 2.2.1, a branch, a tag or a full commit."
    return UnknownVersionError(f"{remote.shown} has no version, branch, tag or commit '{wanted}'; {hint}")


def _offline(remote: Remote, error: NoNetworkError) -> NoNetworkError:
    held = sorted(_remembered_tags(remote))
    return NoNetworkError(f"{error} The cache holds {', '.join(held)}." if held else str(error), error.said)


def _revision(remote: Remote, commit: str, ref: str) -> Revision:
    tags = bare(remote, "tag", "--points-at", commit).splitlines()
    if ref.startswith("refs/tags/"):
        tag = ref.removeprefix("refs/tags/")
        tags = [tag, *(other for other in tags if other != tag)]
        _remember_tag(remote, tag, commit)
    return Revision(commit, ref, tuple(tags))


def _fetch(remote: Remote, what: str, meter: Meter) -> None:
    meter.step(f"asking {remote.shown}")
    options = ("--depth=1", "--no-tags", "--progress")
    bare(remote, *credentials(remote), "fetch", *options, "origin", what, meter=meter)


def _commit_of(remote: Remote, name: str) -> str | None:
    try:
        return bare(remote, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except GitError:
        return None


def _abbreviated(remote: Remote, wanted: str) -> str | None:
    """Complete a short commit from what is here; a partial repository must not ask its remote for a guess."""
    try:
        found = bare(remote, "rev-parse", f"--disambiguate={wanted}").splitlines()
        commits = [name for name in found if bare(remote, "cat-file", "-t", name) == "commit"]
    except GitError:
        return None
    return commits[0] if len(commits) == 1 else None


def _prepare(remote: Remote) -> None:
    """Make the bare repository, or clear what a run that was killed left in it."""
    repository = remote.repository
    if not (repository / "HEAD").exists():
        remove(repository)
        with scratch(repository) as folder:
            git(["init", "--quiet", "--bare", "--template=", str(folder)], folder=folder, remote=remote.shown)
            for key, value in settings(remote):
                git(["--git-dir", str(folder), "config", key, value], folder=folder, remote=remote.shown)
            folder.replace(repository)
    for pattern in ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*", "objects/*/tmp_obj_*"):
        for leftover in repository.glob(pattern):
            leftover.unlink(missing_ok=True)


def _remembered_tags(remote: Remote) -> dict[str, str]:
    try:
        tags = json.loads((remote.folder / "tags.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(tag): str(commit) for tag, commit in tags.items()} if isinstance(tags, dict) else {}


def _remember_tag(remote: Remote, tag: str, commit: str) -> None:
    tags = {**_remembered_tags(remote), tag: commit}
    write_whole(remote.folder / "tags.json", json.dumps(tags, indent=1, sort_keys=True))
