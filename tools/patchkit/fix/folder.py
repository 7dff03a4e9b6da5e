"""A folder of output that is replaced whole or not at all."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from patchkit.errors import OutputError
from patchkit.fix.durable import disk_error, fsync_folder, locked, signals_held, write_new


def replace_folder(folder: Path, files: Mapping[str, bytes], *, refuse: Callable[[Path], str | None]) -> None:
    """Make ``folder`` hold exactly ``files``; an existing folder is swapped for the new one by renaming.

    The new folder is complete and on disk before the old one moves. A run killed between the two renames
    leaves the old folder beside under a reserved name; the next run puts it back first.

    Args:
        folder: the output folder; missing parents are made.
        files: name and bytes of each file.
        refuse: gets an existing folder that holds something; returns why it may not be replaced, or None.

    Raises:
        OutputError: read-only, full disk, a file in the way, or a folder that is not to be replaced.
    """
    made: list[Path] = []
    try:
        folder = folder.resolve()
    except (OSError, RuntimeError) as error:
        raise OutputError(f"{folder} cannot be written: it is a loop of symbolic links.") from error
    try:
        made = _make_parents(folder.parent)
        with locked(folder.parent):
            _recover(folder)
            reason = _why_not(folder, refuse)
            if reason is not None:
                raise OutputError(f"{folder} is not replaced: {reason}; choose another folder.")
            if not _holds(folder, files):
                _swap(folder, files)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {disk_error(error)}; it is as it was.") from error
    finally:
        if not folder.exists():
            for parent in reversed(made):
                with contextlib.suppress(OSError):
                    parent.rmdir()


def _make_parents(parent: Path) -> list[Path]:
    missing = [path for path in (parent, *parent.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
    return list(reversed(missing))


def _beside(folder: Path, role: str) -> Path:
    return folder.parent / f".{folder.name}.patchkit-{role}"


def _recover(folder: Path) -> None:
    new, old = _beside(folder, "new"), _beside(folder, "old")
    if new.exists():
        shutil.rmtree(new)
    if old.exists():
        if folder.exists():
            shutil.rmtree(old)
        else:
            old.rename(folder)


def _why_not(folder: Path, refuse: Callable[[Path], str | None]) -> str | None:
    if not folder.exists():
        return None
    if not folder.is_dir():
        return "it is a file"
    if folder.is_mount():
        return "it is a mount point, which cannot be swapped in one step (a folder inside it can)"
    return refuse(folder) if any(folder.iterdir()) else None


def _holds(folder: Path, files: Mapping[str, bytes]) -> bool:
    if not folder.is_dir() or {path.name for path in folder.iterdir()} != set(files):
        return False
    return all((folder / name).read_bytes() == content for name, content in files.items())


def _swap(folder: Path, files: Mapping[str, bytes]) -> None:
    new, old = _beside(folder, "new"), _beside(folder, "old")
    try:
        new.mkdir()
        for name, content in files.items():
            write_new(new / name, content)
        fsync_folder(new)
        with signals_held():
            if folder.exists():
                folder.rename(old)
            try:
                new.rename(folder)
            except OSError:
                if old.exists():
                    old.rename(folder)
                raise
            fsync_folder(folder.parent)
            shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(new, ignore_errors=True)
