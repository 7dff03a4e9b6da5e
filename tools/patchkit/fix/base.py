"""What a series is made for: the commit of a clean checkout, and a hash over the MPS sources."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from patchkit.errors import InputError
from patchkit.fix.diff import blob_hash
from patchkit.fix.git import committed_blobs, head_commit
from patchkit.fix.series import Base
from patchkit.source.tree import MPS_FOLDER, NATIVE_FUNCTIONS, Tree

_SINGLE_FILES = (NATIVE_FUNCTIONS, "version.txt")


def describe_base(tree: Tree) -> Base:
    """Describe ``tree`` so that a series can later say whether it meets the tree it was made for.

    The hash covers every regular file of the MPS folder, ``native_functions.yaml`` and ``version.txt``: all
    that a scan reads. A checkout whose copies of these differ from its commit is described by hash alone.

    Raises:
        InputError: a file cannot be read.
    """
    contents = _mps_sources(tree.root)
    summary = hashlib.sha256()
    for path in sorted(contents):
        summary.update(f"{hashlib.sha256(contents[path]).hexdigest()}  {path}\n".encode())
    commit = head_commit(tree.root)
    if commit is not None:
        committed = committed_blobs(tree.root, tuple(contents))
        algorithm = "sha1" if len(commit) == 40 else "sha256"
        if any(committed.get(path) != blob_hash(content, algorithm) for path, content in contents.items()):
            commit = None
    return Base("hash" if commit is None else "git", commit, summary.hexdigest(), tree.version)


def _mps_sources(root: Path) -> dict[str, bytes]:
    paths = [root / name for name in _SINGLE_FILES]
    for folder, _, names in os.walk(root / MPS_FOLDER):
        paths += [Path(folder, name) for name in names]
    contents = {}
    for path in paths:
        if path.is_symlink() or not path.is_file():
            continue
        try:
            contents[path.relative_to(root).as_posix()] = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    return contents
