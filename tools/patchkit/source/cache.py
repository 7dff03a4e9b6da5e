"""The cache folder: locks, and trees sealed with the size and time of each file so that changes show."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patchkit.source.files import remove, write_whole, writing
from patchkit.source.needed import needed_files

_QUIET_WAIT_SECONDS = 1.0


def cache_folder() -> Path:
    """Return ``PATCHKIT_CACHE`` where it is set, otherwise the user's cache folder for patchkit."""
    chosen = os.environ.get("PATCHKIT_CACHE")
    if chosen:
        return Path(os.path.expanduser(chosen)).absolute()  # noqa: PTH111 (it never raises)
    import platformdirs

    return Path(platformdirs.user_cache_dir("patchkit", appauthor=False))


def warn(message: str) -> None:
    """Print a warning on standard error."""
    print(f"patchkit: warning: {message}", file=sys.stderr)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path``; a wait of more than a second is announced on standard error.

    Raises:
        OutputError: the lock file cannot be made.
    """
    import filelock

    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path)
        try:
            lock.acquire(timeout=_QUIET_WAIT_SECONDS)
        except filelock.Timeout:
            print(f"patchkit: waiting for another patchkit, which holds {path}", file=sys.stderr)
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


def seal(root: Path, facts: dict[str, str]) -> None:
    """Declare the tree at ``root`` complete, and keep ``facts`` beside it.

    The fact ``names`` holds the tags or archive names that tell its release, one a line; ``commit`` and
    ``top`` are there where they apply.
    """
    record = {"facts": facts, "files": _snapshot(root)}
    write_whole(_seal_of(root), json.dumps(record, sort_keys=True))


def sealed(root: Path) -> dict[str, str] | None:
    """Return the facts kept with the tree at ``root``; ``None`` if it is absent, unfinished or changed."""
    try:
        record = json.loads(_seal_of(root).read_text(encoding="utf-8"))
        if record["files"] == _snapshot(root) and record["files"]:
            return {str(key): str(value) for key, value in record["facts"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return None


def make_room(root: Path) -> None:
    """Clear the place of a tree that is not :func:`sealed`: unfinished it goes, changed it is kept aside."""
    seal_file = _seal_of(root)
    if seal_file.exists() and root.is_dir():
        aside = root.with_name(f"{root.name}.changed-{time.strftime('%Y%m%d-%H%M%S')}")
        root.rename(aside)
        warn(f"the cached tree {root} had been changed; it was kept as {aside} and a fresh one is made.")
    seal_file.unlink(missing_ok=True)
    remove(root)


def _seal_of(root: Path) -> Path:
    return root.with_name(f"{root.name}.json")


def _snapshot(root: Path) -> dict[str, list[int]]:
    return {path: [status.st_size, status.st_mtime_ns] for path, status in needed_files(root)}
