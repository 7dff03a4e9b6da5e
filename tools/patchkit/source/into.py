"""Filling a folder of the user's with a tree: it must be empty, and after a failure it is as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from patchkit.errors import OutputError
from patchkit.source.cache import locked
from patchkit.source.files import remove, writing

_STAGE = ".patchkit-partial"
_LOCK = ".patchkit.lock"
_LAST = (".git", "aten")  # until aten stands in its place no command takes the folder for a tree


@contextmanager
def filling(into: Path) -> Iterator[Path]:
    """Give a folder inside ``into`` for the block to fill; the block ends with :func:`move_up`.

    Raises:
        OutputError: ``into`` is a file or holds something, or cannot be written.
    """
    with writing(into):
        made = _make(into)
        stage = into / _STAGE
        try:
            with locked(into / _LOCK):
                _refuse_unless_empty(into)
                remove(stage)  # its lock was free: the run that made it died
                try:
                    stage.mkdir()
                    yield stage
                finally:
                    remove(stage)
        finally:
            (into / _LOCK).unlink(missing_ok=True)
            with suppress(OSError):
                for folder in made:
                    folder.rmdir()


def move_up(tree: Path, into: Path) -> None:
    """Rename all that ``tree`` holds into ``into``, or nothing; what marks a tree goes last."""
    entries = sorted(tree.iterdir(), key=lambda entry: (entry.name in _LAST, entry.name == "aten", entry.name))
    try:
        for entry in entries:
            entry.rename(into / entry.name)
    except BaseException:
        for entry in entries:
            with suppress(FileNotFoundError):
                (into / entry.name).rename(entry)
        raise


def _make(into: Path) -> list[Path]:
    """Make ``into`` and its parents; return those that were made, the deepest first."""
    if into.exists() and not into.is_dir():
        raise OutputError(f"{into} is a file; --into takes a new or empty folder.")
    missing = [folder for folder in (into, *into.parents) if not folder.exists()]
    into.mkdir(parents=True, exist_ok=True)
    return missing


def _refuse_unless_empty(into: Path) -> None:
    held = sorted(entry.name for entry in into.iterdir() if entry.name not in (_STAGE, _LOCK))
    if held:
        raise OutputError(f"{into} is not empty (it holds '{held[0]}'); --into takes a new or empty folder.")
