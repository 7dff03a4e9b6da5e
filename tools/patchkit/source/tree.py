"""A PyTorch source tree as the other stages see it: a root, a version, and files that are only ever read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import InputError, NotATreeError

MPS_FOLDER = "aten/src/ATen/native/mps"
NATIVE_FUNCTIONS = "aten/src/ATen/native/native_functions.yaml"


@dataclass(frozen=True)
class Tree:
    """A source tree on disk.

    Args:
        root: folder that holds ``aten/`` and ``version.txt``.
        version: ``2.6.0`` style where it is known, otherwise the text of ``version.txt`` or ``unknown``.
        given: what the user named (path, version or archive); reports print this, never a cache path.
        commit: the full commit that is checked out, otherwise ``None``; the files of a user's folder may
            differ from it.
        cached: the tree lies in patchkit's cache, which other runs share: it must not be written to.
    """

    root: Path
    version: str
    given: str
    commit: str | None = None
    cached: bool = False


def read_version(root: Path) -> str:
    """Return the release that ``version.txt`` names, ``2.6.0`` for ``2.6.0a0``."""
    try:
        text = (root / "version.txt").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "unknown"
    match = re.match(r"\d+\.\d+(\.\d+)?", text)
    return match.group(0) if match else "unknown"


def open_tree(path: Path, *, given: str | None = None, version: str | None = None) -> Tree:
    """Check that ``path`` is a PyTorch tree with MPS kernels and describe it.

    Raises:
        InputError: ``path`` cannot be read.
        NotATreeError: ``path`` is no folder, has no ``aten/src/ATen/native``, or is of a release before
            the MPS backend (1.12).
    """
    shown = given or str(path)
    try:
        if not path.is_dir():
            raise NotATreeError(f"{shown} {_what(path)}; give the root of a PyTorch source tree.")
        if not (path / "aten/src/ATen/native").is_dir():
            raise NotATreeError(
                f"{shown} is not a PyTorch source tree: it has no aten/src/ATen/native folder; "
                "give the folder that holds aten/ and version.txt."
            )
        if not (path / MPS_FOLDER / "operations").is_dir():
            raise NotATreeError(
                f"{shown} (torch {read_version(path)}) has no {MPS_FOLDER}/operations folder: "
                "the MPS backend exists from torch 1.12 on."
            )
    except OSError as error:
        raise InputError(f"{shown} cannot be read: {error.strerror}.") from error
    return Tree(path, version or read_version(path), shown)


def _what(path: Path) -> str:
    if path.is_symlink() and not path.exists():
        return "is a symbolic link that leads nowhere"
    return "is not a folder" if path.exists() else "does not exist"
