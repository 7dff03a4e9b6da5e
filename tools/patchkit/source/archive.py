"""A tree from an archive: extracted once into the cache, found there again by the archive's own bytes."""

from __future__ import annotations

import hashlib
import stat
from dataclasses import replace
from pathlib import Path

from patchkit.errors import InputError, NotATreeError
from patchkit.source.cache import cache_folder, locked, make_room, seal, sealed
from patchkit.source.extract import Extraction
from patchkit.source.files import scratch, writing
from patchkit.source.into import filling, move_up
from patchkit.source.members import SUFFIXES, Bounds, opened
from patchkit.source.needed import is_needed
from patchkit.source.progress import Meter
from patchkit.source.tree import Tree, open_tree
from patchkit.source.version import best_version

_KEY_DIGITS = 20
_Identity = tuple[int, int, int]


def is_archive_name(name: str) -> bool:
    """Say whether ``name`` ends like an archive that :func:`tree_from_archive` takes."""
    return name.lower().endswith(SUFFIXES)


def tree_from_archive(
    archive: Path, *, given: str, into: Path | None, full: bool, meter: Meter, bounds: Bounds | None = None
) -> Tree:
    """Extract ``archive`` and describe the tree in it.

    Args:
        archive: a release tarball, Debian's orig tarball, or a zip file.
        given: how the user named it.
        into: an empty or new folder for the whole tree; without it the tree goes to the cache.
        full: extract everything, not only what scanning reads; always so with ``into``.
        meter: shows how far it is.
        bounds: what the archive may cost; the default suits PyTorch with all its submodules.

    Raises:
        InputError: it cannot be read, is truncated, damaged or encrypted.
        SourceError: it is refused because a member is hostile or it is too large.
        NotATreeError: no PyTorch tree with MPS kernels is in it.
        OutputError: the cache or ``into`` cannot be written, or the disk is full.
    """
    limits = bounds or Bounds()
    identity = _identity(archive)
    if into is not None:
        with filling(into) as folder:
            top = _extract(archive, identity, folder, limits, meter, full=True)
            _describe(archive, folder / top, given, top)
            move_up(folder / top, into)
        return _describe(archive, into, given, top)
    digest = _sha256(archive, meter)
    root = cache_folder() / "archives" / (digest[:_KEY_DIGITS] + ("-full" if full else ""))
    facts = sealed(root)
    if facts is None:
        with locked(root.with_name(f"{root.name}.lock")), writing(root.parent):
            facts = sealed(root) or _fill(archive, identity, root, given, limits, meter, full=full)
    return _describe(archive, root, given, facts["top"], cached=True)


def _fill(
    archive: Path, identity: _Identity, root: Path, given: str, bounds: Bounds, meter: Meter, *, full: bool
) -> dict[str, str]:
    make_room(root)
    with scratch(root) as folder:
        top = _extract(archive, identity, folder, bounds, meter, full=full)
        _describe(archive, folder / top, given, top)
        (folder / top).replace(root)
    facts = {"names": f"{archive.name}\n{top}", "top": top}
    seal(root, facts)
    return facts


def _extract(archive: Path, identity: _Identity, folder: Path, bounds: Bounds, meter: Meter, *, full: bool) -> str:
    def wanted(path: str) -> bool:
        return full or is_needed(path) or is_needed(path.partition("/")[2])

    def progress(done: int, total: int) -> None:
        meter.step(f"extracting {archive.name}", done, total)

    with opened(archive, bounds, progress) as members:
        top = Extraction(archive, folder, bounds, wanted).extract(members)
    if _identity(archive) != identity:
        raise InputError(f"{archive} changed while it was read; run the command again.")
    return top


def _describe(archive: Path, root: Path, given: str, top: str, *, cached: bool = False) -> Tree:
    try:
        tree = open_tree(root, given=given)
    except NotATreeError as error:
        raise NotATreeError(f"{given} holds no tree that can be scanned. {error}") from error
    return replace(tree, version=best_version(tree.version, (archive.name, top)), cached=cached)


def _identity(archive: Path) -> _Identity:
    """Return what changes when the file does; refuse what is no file, or is empty."""
    try:
        status = archive.stat()
    except OSError as error:
        raise InputError(f"{archive} cannot be read: {error.strerror}.") from error
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{archive} is neither a folder nor an archive file.")
    if status.st_size == 0:
        raise InputError(f"{archive} is empty; download it again.")
    return status.st_ino, status.st_size, status.st_mtime_ns


def _sha256(archive: Path, meter: Meter) -> str:
    digest = hashlib.sha256()
    done, total = 0, archive.stat().st_size
    try:
        with archive.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
                done += len(chunk)
                meter.step(f"reading {archive.name}", done, total)
    except OSError as error:
        raise InputError(f"{archive} cannot be read: {error.strerror}.") from error
    return digest.hexdigest()
