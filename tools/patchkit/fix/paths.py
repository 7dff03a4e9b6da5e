"""Which paths a patch may touch: existing regular files inside the tree, never through a link."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path, PurePosixPath

from patchkit.errors import InputError, PatchError

# What `git` and `patch` both read back from a diff header without quoting.
_PLAIN = re.compile(r"[\x20-\x7e]+\Z")
_QUOTED = frozenset('"\\')
# Writing to these would run a command at the next git call, or forge a journal.
_RESERVED = frozenset({".git", ".patchkit-transaction"})


def check_path(path: str, *, where: str) -> str:
    """Return ``path`` if it is a plain relative path with forward slashes that stays inside a tree.

    Args:
        path: path as a patch, a manifest or an edit names it.
        where: what named it; starts the error message.

    Raises:
        InputError: absolute, with ``..``, inside ``.git``, or with characters a diff header cannot hold.
    """
    if not path or not _PLAIN.match(path) or _QUOTED & set(path) or path != path.strip():
        raise InputError(f"{where} names the file {path!r}, which cannot be written in a patch.")
    parts = path.split("/")
    if path.startswith("/") or re.match(r"[A-Za-z]:", path):
        raise InputError(f"{where} names the absolute path {path!r}: a patch may only touch its tree.")
    if any(part in ("", ".", "..") for part in parts):
        raise InputError(f"{where} names {path!r}, which is not a plain path inside the tree.")
    if any(part.casefold() in _RESERVED for part in parts):
        raise InputError(f"{where} names {path!r}: files of git and of patchkit itself are never patched.")
    return path


def check_distinct(paths: tuple[str, ...], *, where: str) -> None:
    """Refuse paths that differ only by case: they are one file on macOS.

    Raises:
        InputError: two of ``paths`` differ only by case.
    """
    seen: dict[str, str] = {}
    for path in paths:
        other = seen.setdefault(path.casefold(), path)
        if other != path:
            raise InputError(f"{where} names both {other} and {path}, which are one file on some systems.")


def file_in_tree(root: Path, path: str) -> Path:
    """Return the file ``path`` of the tree ``root`` after checking that no part of it is a link.

    Raises:
        InputError: see :func:`check_path`.
        PatchError: the file is missing, not a regular file, or reached through a symbolic link.
    """
    check_path(path, where="The series")
    current = root
    parts = PurePosixPath(path).parts
    for position, part in enumerate(parts):
        current = current / part
        try:
            mode = os.lstat(current).st_mode
        except (FileNotFoundError, NotADirectoryError) as error:
            raise PatchError(f"{path} is missing from {root}.") from error
        except OSError as error:
            raise PatchError(f"{path} cannot be read: {error.strerror}.") from error
        shown = "/".join(parts[: position + 1])
        if stat.S_ISLNK(mode):
            raise PatchError(f"{shown} is a symbolic link in {root}; patchkit does not write through links.")
        if position == len(parts) - 1 and not stat.S_ISREG(mode):
            raise PatchError(f"{shown} is not a regular file in {root}.")
    return current
