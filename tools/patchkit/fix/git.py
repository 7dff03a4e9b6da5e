"""What git knows of a few files, asked without running anything that a checkout's own settings could name.

``ls-tree`` and ``rev-parse`` read objects only: no index, no hooks, no clean filter, no file system monitor,
so a checkout that came from somewhere else is safe to ask. Local edits are found by hashing files here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from patchkit.errors import PatchError

_SECONDS = 60
# `git rev-parse --local-env-vars`: inside a git hook these would point git at another repository.
_LOCAL = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_PARAMETERS",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)
# A partial clone may fetch what it lacks, by a command that its settings name: no protocol is allowed here.
_QUIET = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


def head_commit(root: Path) -> str | None:
    """Return the commit checked out in the git work tree around ``root``; None without git or a commit."""
    if not _in_work_tree(root):
        return None
    done = _git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    return done.stdout.decode("ascii", "replace").strip() or None if done.returncode == 0 else None


def committed_blobs(root: Path, paths: Sequence[str]) -> dict[str, str]:
    """Return git's hash of each of ``paths`` in the commit checked out; without git, or untracked: not there.

    Raises:
        PatchError: ``root`` is in a git work tree that git refuses to read (another user's, a damaged one).
    """
    if not _in_work_tree(root) or not paths:
        return {}
    done = _git(root, "ls-tree", "-z", "HEAD", "--", *paths)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        if "Not a valid object name HEAD" in said or "not a git repository" in said:
            return {}
        raise PatchError(f"git cannot tell which files of {root} have uncommitted changes ({said}).")
    blobs = {}
    for row in done.stdout.decode("utf-8", "surrogateescape").split("\0"):
        facts, _, path = row.partition("\t")
        if path:
            blobs[path] = facts.split(" ")[2]
    return blobs


def _in_work_tree(root: Path) -> bool:
    if shutil.which("git") is None:
        return False
    resolved = root.resolve()
    return any(os.path.lexists(folder / ".git") for folder in (resolved, *resolved.parents))


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    environment = {key: value for key, value in os.environ.items() if key not in _LOCAL} | _QUIET
    command = ["git", "-C", os.fspath(root), "--literal-pathspecs", *arguments]
    try:
        return subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PatchError(f"git could not be asked about {root}: {error}.") from error
