"""The operating system's failures as sentences, and files and folders that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patchkit.errors import OutputError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


def disk_full(folder: Path) -> OutputError:
    """Return the error for a disk that has no room left under ``folder``."""
    return OutputError(
        f"The disk that holds {folder} is full; what was half written was removed. "
        "Free some space, or point PATCHKIT_CACHE at another disk."
    )


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Report a failure to write under ``folder`` as an :class:`OutputError`.

    Raises:
        OutputError: the disk is full, the folder is read-only, or a part of its path is not a folder.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise disk_full(folder) from error
        if error.errno in _READ_ONLY:
            raise OutputError(
                f"{folder} cannot be written ({error.strerror}); choose another folder, "
                "or set PATCHKIT_CACHE for the cache."
            ) from error
        raise OutputError(f"{folder} cannot be written: {error.strerror or error}.") from error


def remove(path: Path) -> None:
    """Remove a folder, a file or a link if it is there; what is inside a linked folder is not touched."""
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
    elif path.exists():
        shutil.rmtree(path)


@contextmanager
def scratch(final: Path) -> Iterator[Path]:
    """Give an empty folder beside ``final`` for the block to fill and rename to ``final``; what is left goes.

    The caller holds the lock for ``final``: a scratch folder found here was left by a run that died, and goes
    too.
    """
    folder = final.with_name(f".{final.name}.partial")
    remove(folder)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` so that a reader sees the old file or the new one, never a part."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
