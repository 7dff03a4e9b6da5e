"""The demo: a miniature tree of MPS kernels, buggy and safe, and the commands that repair it."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import OutputError

TREE = "tree"
SERIES = "patches"


@dataclass(frozen=True)
class Step:
    """One command of the demo, run in the demo's folder.

    Args:
        why: one sentence that says what it is for.
        arguments: the command line, without the program's name.
    """

    why: str
    arguments: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command line as a user types it."""
        return shlex.join(("patchkit", *self.arguments))


STEPS = (
    Step("Which kernels of this tree lose their output?", ("scan", TREE)),
    Step("Write a patch for each; the tree is not touched.", ("fix", TREE, "--output", SERIES)),
    Step("Put the series into the tree, all of it or nothing.", ("apply", SERIES, TREE)),
    Step("Scan again: is anything left?", ("scan", TREE)),
)


def demo_tree_path() -> Path:
    """Return the miniature tree that ships with patchkit; it is read, never written to."""
    return Path(__file__).resolve().parent / TREE


def run_demo(
    run: Callable[[Sequence[str]], int], say: Callable[[str], None], into: Path | None = None
) -> tuple[int, ...]:
    """Copy the miniature tree and run scan, fix, apply and scan on the copy.

    Args:
        run: runs one patchkit command line and returns its exit code.
        say: prints one line.
        into: folder to make and keep; where None, a temporary one that is removed at the end.

    Returns:
        The exit code of each command; the last one is 0 where the rescan is clean. A command that could
        not do its work (exit code 2 or more) ends the demo.

    Raises:
        OutputError: ``into`` exists and is not an empty folder, or cannot be written.
    """
    with _folder(into) as folder:
        _copy_tree(folder / TREE)
        say(f"# A miniature PyTorch tree is in {folder}; run these there.")
        codes = []
        with _working_in(folder):
            for step in STEPS:
                say("")
                say(f"# {step.why}")
                say(f"$ {step.command}")
                codes.append(run(step.arguments))
                if codes[-1] > 1:
                    break
        return tuple(codes)


@contextlib.contextmanager
def _folder(into: Path | None) -> Iterator[Path]:
    if into is None:
        with tempfile.TemporaryDirectory(prefix="patchkit-demo-") as name:
            yield Path(name)
        return
    try:
        into.mkdir(parents=True, exist_ok=True)
        taken = any(into.iterdir())
    except OSError as error:
        raise OutputError(f"cannot use {into} for the demo: {error.strerror}.") from error
    if taken:
        raise OutputError(f"{into} is not empty; give a new folder for the demo.")
    yield into


def _copy_tree(target: Path) -> None:
    try:
        shutil.copytree(demo_tree_path(), target, copy_function=shutil.copyfile)
    except (OSError, shutil.Error) as error:
        raise OutputError(f"cannot copy the demo's tree to {target}: {error}.") from error


@contextlib.contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
