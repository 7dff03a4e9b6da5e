"""Change several files of a tree so that all of them change or none, even if the process is killed.

How: the new contents are written beside, in ``.patchkit-transaction`` at the tree's root, with a second name
(a hard link) for each old file. Then a journal is put in place by one rename: that is the moment of decision.
Before it the tree is untouched; after it every new file is renamed over its old one, and whoever comes next
finishes what a killed run began. If a rename fails, the journal is renamed to say so and the old files go
back: the same inodes, so that not even their times have changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from patchkit.errors import InputError, OutputError, PatchError
from patchkit.fix.diff import FileChange
from patchkit.fix.durable import disk_error, fsync_folder, locked, signals_held, write_new
from patchkit.fix.paths import check_distinct, file_in_tree

FOLDER = ".patchkit-transaction"
_COMMIT = "commit.json"
_ROLLBACK = "rollback.json"
_DRAFT = "draft.json"
_SCHEMA = "patchkit-transaction/1"

Outcome = Literal["finished", "undone"]


@dataclass(frozen=True)
class _Entry:
    path: str
    before: str
    after: str
    number: int

    @property
    def new(self) -> str:
        return f"new-{self.number}"

    @property
    def old(self) -> str:
        return f"old-{self.number}"


def edit_tree(root: Path, changes: Sequence[FileChange]) -> tuple[str, ...]:
    """Change files of ``root`` all or nothing: the whole story, with lock and recovery.

    Args:
        root: the tree.
        changes: each file with the bytes it has and the bytes it shall have.

    Returns:
        Paths of the files that were rewritten; a file whose bytes stay the same is not touched.

    Raises:
        PatchError: a file is missing, reached through a link, or no longer has the bytes it had.
        OutputError: the tree cannot be written (read-only, full disk); it is as it was.
    """
    with locked(root):
        recover(root)
        return replace_files(root, changes)


def pending(root: Path) -> bool:
    """Return whether an interrupted run left its journal in ``root``."""
    return os.path.lexists(root / FOLDER)


def replace_files(root: Path, changes: Sequence[FileChange]) -> tuple[str, ...]:
    """Change files of ``root`` all or nothing; the caller holds the lock and has called :func:`recover`.

    Arguments, result and errors are those of :func:`edit_tree`.
    """
    wanted = [change for change in changes if change.before != change.after]
    paths = tuple(change.path for change in wanted)
    check_distinct(paths, where="The edit")
    if len(set(paths)) != len(paths):
        raise PatchError("One edit may change a file only once.")
    if not wanted:
        return ()
    for change in wanted:
        file_in_tree(root, change.path)
    folder = root / FOLDER
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise OutputError(f"{root} cannot be changed: {disk_error(error)}; it is as it was.") from error
    try:
        entries = _stage(root, folder, wanted)
        with signals_held():
            _decide(folder, entries)
            _install(root, folder, entries)
            # All is done; what cannot be removed now, the next run removes.
            with contextlib.suppress(OSError):
                _clean(root, folder)
    except BaseException as error:
        undone = not (folder / _COMMIT).exists() and not (folder / _ROLLBACK).exists()
        if undone:
            with contextlib.suppress(OSError):
                _clean(root, folder)
        if not isinstance(error, OSError):
            raise
        end = "it is as it was" if undone else "run 'patchkit apply' again once this is mended"
        raise OutputError(f"{root} cannot be changed: {disk_error(error)}; {end}.") from error
    return paths


def recover(root: Path) -> Outcome | None:
    """Finish or undo what an interrupted run left in ``root``; the caller holds the lock.

    Returns:
        ``finished`` if its changes are now all there, ``undone`` if none is, None if there was nothing to do.

    Raises:
        PatchError: a file was changed since by someone else, or something that is not ours is in the way.
        OutputError: the tree cannot be written.
    """
    folder = root / FOLDER
    if not pending(root):
        return None
    if folder.is_symlink() or not folder.is_dir():
        raise PatchError(f"{folder} is in the way: patchkit keeps its journal under this name; remove it.")
    outcome: Outcome = "undone"
    try:
        with signals_held():
            if (folder / _COMMIT).exists():
                outcome = "finished"
                _settle(root, folder, _read_journal(folder / _COMMIT), forward=True)
            elif (folder / _ROLLBACK).exists():
                _settle(root, folder, _read_journal(folder / _ROLLBACK), forward=False)
            _clean(root, folder)
    except OSError as error:
        raise OutputError(
            f"An interrupted run in {root} cannot be completed: {disk_error(error)}; "
            "run 'patchkit apply' again once this is mended."
        ) from error
    return outcome


def _reached(step: str) -> None:
    """Mark a point where a run can be killed; tests replace this function to do so."""


def _stage(root: Path, folder: Path, changes: Sequence[FileChange]) -> list[_Entry]:
    entries = []
    for number, change in enumerate(changes):
        _reached("stage")
        entry = _Entry(change.path, _digest(change.before), _digest(change.after), number)
        target = file_in_tree(root, change.path)
        if target.read_bytes() != change.before:
            raise PatchError(f"{change.path} was changed while patchkit was working; nothing was written.")
        status = target.stat()
        write_new(folder / entry.new, change.after, mode=stat.S_IMODE(status.st_mode))
        _keep_owner(folder / entry.new, status)
        _reached("staged")
        _second_name(target, folder / entry.old)
        entries.append(entry)
    fsync_folder(folder)
    return entries


def _keep_owner(path: Path, status: os.stat_result) -> None:
    if (status.st_uid, status.st_gid) == (os.geteuid(), os.getegid()):
        return
    # Only root may give files away; for anyone else the new file is their own, as with any editor.
    with contextlib.suppress(PermissionError):
        os.chown(path, status.st_uid, status.st_gid)
        path.chmod(stat.S_IMODE(status.st_mode))


def _second_name(target: Path, backup: Path) -> None:
    try:
        os.link(target, backup)
    except OSError:
        # No hard links here (exFAT, some mounts): keep a copy with its times instead.
        shutil.copy2(target, backup)


def _decide(folder: Path, entries: Sequence[_Entry]) -> None:
    journal = {"schema": _SCHEMA, "files": [vars(entry) for entry in entries]}
    _reached("draft")
    write_new(folder / _DRAFT, json.dumps(journal, indent=2).encode())
    _reached("decide")
    (folder / _DRAFT).replace(folder / _COMMIT)


def _install(root: Path, folder: Path, entries: Sequence[_Entry]) -> None:
    installed: list[_Entry] = []
    try:
        fsync_folder(folder)
        fsync_folder(root)
        _reached("decided")
        for entry in entries:
            _reached("install")
            (folder / entry.new).replace(root / entry.path)
            installed.append(entry)
        _sync_parents(root, entries)
        _reached("installed")
    except OSError:
        _reached("undo")
        (folder / _COMMIT).replace(folder / _ROLLBACK)
        for entry in reversed(installed):
            _reached("put back")
            (folder / entry.old).replace(root / entry.path)
        _sync_parents(root, installed)
        with contextlib.suppress(OSError):
            _clean(root, folder)
        raise


def _sync_parents(root: Path, entries: Sequence[_Entry]) -> None:
    for parent in sorted({(root / entry.path).parent for entry in entries}):
        fsync_folder(parent)


def _clean(root: Path, folder: Path) -> None:
    """Remove the transaction folder, the journal first: without it nothing is left to do."""
    for name in (_COMMIT, _ROLLBACK):
        (folder / name).unlink(missing_ok=True)
        _reached("clean")
    fsync_folder(folder)
    for path in sorted(folder.iterdir()):
        if path.name != _DRAFT and not path.name.startswith(("new-", "old-")):
            raise PatchError(f"{path} is in the way: patchkit keeps its journal in this folder; move it away.")
    for path in sorted(folder.iterdir()):
        path.unlink()
        _reached("clean")
    folder.rmdir()
    fsync_folder(root)


def _settle(root: Path, folder: Path, entries: Sequence[_Entry], *, forward: bool) -> None:
    moves: list[tuple[Path, Path]] = []
    for entry in entries:
        target = file_in_tree(root, entry.path)
        found = _digest(target.read_bytes())
        wanted, other = (entry.after, entry.before) if forward else (entry.before, entry.after)
        source = folder / (entry.new if forward else entry.old)
        if found == wanted:
            continue
        if found != other or not _holds(source, wanted):
            raise PatchError(
                f"{entry.path} was changed after a patchkit run in {root} was interrupted; the contents of "
                f"that run lie in {folder}: put the file back or remove that folder, then run again."
            )
        moves.append((source, target))
    for source, target in moves:
        _reached("settle")
        source.replace(target)
    _sync_parents(root, entries)


def _holds(path: Path, digest: str) -> bool:
    return path.is_file() and not path.is_symlink() and _digest(path.read_bytes()) == digest


def _read_journal(path: Path) -> list[_Entry]:
    try:
        data = json.loads(path.read_bytes())
        if data["schema"] != _SCHEMA:
            raise ValueError(data["schema"])
        return [
            _Entry(str(row["path"]), str(row["before"]), str(row["after"]), int(row["number"])) for row in data["files"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a journal that patchkit wrote; move it away.") from error


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
