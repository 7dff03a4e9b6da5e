"""Apply a patch series to a tree, or take it out again: all of it or nothing.

What "fits" means: a file with the very bytes the series was made from takes each hunk at its line. Any other
file must hold every context line exactly, under the same function, with one single way to place all hunks;
the lines may have moved. ``git apply`` would take the nearest place, which in a kernel file is often another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from patchkit.errors import InputError, NotATreeError, PatchError
from patchkit.fix.chain import Chain, ChainMisfitError, Moved, chains, is_known, run_chain, standing
from patchkit.fix.diff import FileChange, blob_hash
from patchkit.fix.durable import locked
from patchkit.fix.git import committed_blobs
from patchkit.fix.paths import file_in_tree
from patchkit.fix.series import Series, read_series
from patchkit.fix.transaction import Outcome, pending, recover, replace_files

Action = Literal["applied", "reversed", "already-applied", "not-applied", "empty"]
_SHOWN_FILES = 3


@dataclass(frozen=True)
class ApplyResult:
    """What :func:`apply_series` did, or with ``check`` would do.

    Args:
        action: what was done; ``already-applied``, ``not-applied`` and ``empty`` changed nothing.
        check: whether this was only a look.
        patches: names of all patches of the series.
        files: paths whose bytes changed, or would.
        moved: hunks that fitted at another line than recorded.
        recovered: what was done with an earlier run that had been killed.
    """

    action: Action
    check: bool
    patches: tuple[str, ...]
    files: tuple[str, ...] = ()
    moved: tuple[Moved, ...] = ()
    recovered: Outcome | None = None


def apply_series(
    series_folder: Path, tree_root: Path, *, reverse: bool = False, check: bool = False, force: bool = False
) -> ApplyResult:
    """Apply the series in ``series_folder`` to the tree ``tree_root``.

    Args:
        series_folder: folder that :func:`patchkit.fix.series.write_series` wrote.
        tree_root: folder that holds ``aten/``; git is not needed, and never written to.
        reverse: take the series out instead.
        check: change nothing.
        force: go on although a file to be touched has uncommitted changes in git.

    Returns:
        What was done. A series that is already in (or, with ``reverse``, not in) the tree is not an error.

    Raises:
        InputError: the series is damaged, edited, or asks for more than new text in existing files.
        NotATreeError: ``tree_root`` is not a folder.
        PatchError: made for another tree, partly applied, or uncommitted changes are in the way.
        OutputError: the tree cannot be written; it is as it was.
    """
    series = read_series(series_folder)
    names = tuple(patch.name for patch in series.patches)
    if not tree_root.is_dir():
        what = "is not a folder" if tree_root.exists() else "does not exist"
        raise NotATreeError(f"{tree_root} {what}; give the root of a PyTorch source tree.")
    try:
        with locked(tree_root):
            recovered = _recover(tree_root, check)
            action, changes, moved = _plan(series, tree_root, reverse=reverse, force=force)
            if check or not changes:
                files = tuple(change.path for change in changes)
            else:
                files = replace_files(tree_root, changes)
    except PermissionError as error:
        raise InputError(f"{tree_root} cannot be read: {error.strerror}.") from error
    return ApplyResult(action, check, names, files, moved, recovered)


def _recover(root: Path, check: bool) -> Outcome | None:
    if check and pending(root):
        raise PatchError(f"A run in {root} was interrupted; 'patchkit apply' without --check completes it first.")
    return recover(root)


def _plan(
    series: Series, root: Path, *, reverse: bool, force: bool
) -> tuple[Action, tuple[FileChange, ...], tuple[Moved, ...]]:
    if not series.patches:
        return "empty", (), ()
    todo = [chain.reversed() if reverse else chain for chain in chains(series)]
    contents = {chain.path: _content(root, chain.path) for chain in todo}
    # How many patches of its chain, in the direction asked for, are already done in each file.
    done = {chain.path: _standing(contents[chain.path], chain) for chain in todo}
    _check_decidable(todo, contents, done)
    if all(len(chain.diffs) in done[chain.path] for chain in todo):
        return "not-applied" if reverse else "already-applied", (), ()
    if not all(0 in done[chain.path] for chain in todo):
        raise _not_applicable(series, root, todo, contents, done, reverse)
    changes = []
    moved: list[Moved] = []
    for chain in todo:
        content = contents[chain.path] or b""
        after, offsets = run_chain(content, chain)
        changes.append(FileChange(chain.path, content, after))
        moved += offsets
    if not force:
        check_uncommitted(root, changes)
    return "reversed" if reverse else "applied", tuple(changes), tuple(moved)


def _content(root: Path, path: str) -> bytes | None:
    """Return the bytes of a file, or None if it is missing; links and other odd files are refused."""
    try:
        return file_in_tree(root, path).read_bytes()
    except PatchError:
        if _missing(root, path):
            return None
        raise
    except OSError as error:
        raise InputError(f"{root / path} cannot be read: {error.strerror}.") from error


def _missing(root: Path, path: str) -> bool:
    try:
        (root / path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    return False


def _standing(content: bytes | None, chain: Chain) -> frozenset[int]:
    return frozenset() if content is None else standing(content, chain)


def _check_decidable(
    todo: Sequence[Chain], contents: Mapping[str, bytes | None], done: Mapping[str, frozenset[int]]
) -> None:
    for chain in todo:
        content = contents[chain.path]
        if content is not None and len(done[chain.path]) > 1 and not is_known(content, chain):
            raise PatchError(
                f"{chain.path} is not a file this series knows, and it cannot be told whether the series is "
                "already in it: write the series anew for this tree with 'patchkit fix'."
            )


def check_uncommitted(root: Path, changes: Sequence[FileChange]) -> None:
    """Refuse files that have uncommitted changes in git, other than ``changes`` themselves.

    Args:
        root: the tree; outside git nothing is refused.
        changes: what is about to be written, with the bytes the files have now.

    Raises:
        PatchError: names the files, or says that git refuses to read the checkout.
    """
    committed = committed_blobs(root, tuple(change.path for change in changes))
    dirty = [change.path for change in changes if not _is_ours(committed.get(change.path), change)]
    if dirty:
        have = "has" if len(dirty) == 1 else "have"
        raise PatchError(
            f"{_listed(dirty)} {have} uncommitted changes in {root}: commit or stash them, or use --force to "
            "patch on top of them."
        )


def _is_ours(blob: str | None, change: FileChange) -> bool:
    """Return whether what is committed as ``blob`` is one of the two versions; a checkout may add CRLF."""
    if blob is None:
        return True
    algorithm = "sha1" if len(blob) == 40 else "sha256"
    versions = (change.before, change.after)
    return any(
        blob in (blob_hash(content, algorithm), blob_hash(content.replace(b"\r\n", b"\n"), algorithm))
        for content in versions
    )


def _not_applicable(
    series: Series,
    root: Path,
    todo: Sequence[Chain],
    contents: Mapping[str, bytes | None],
    done: Mapping[str, frozenset[int]],
    reverse: bool,
) -> PatchError:
    strangers = [chain for chain in todo if not done[chain.path]]
    if not strangers:
        return _partly_applied(series, root, todo, done, reverse)
    reasons = [_why(chain, contents[chain.path]) for chain in strangers[:_SHOWN_FILES]]
    more = len(strangers) - len(reasons)
    if more:
        reasons.append(f"{more} more file{'s' * (more != 1)}")
    return PatchError(
        f"The series was made for another tree than {root} ({series.base}): {'; '.join(reasons)}. Nothing was changed."
    )


def _why(chain: Chain, content: bytes | None) -> str:
    if content is None:
        return f"{chain.path} is missing"
    try:
        run_chain(content, chain)
    except ChainMisfitError as error:
        return f"{chain.path} differs: hunk {error.cause.number} of {error.patch} {error.cause.reason}"
    except PatchError as error:
        return str(error).rstrip(".")
    return f"{chain.path} is between two versions"


def _partly_applied(
    series: Series, root: Path, todo: Sequence[Chain], done: Mapping[str, frozenset[int]], reverse: bool
) -> PatchError:
    present: dict[str, list[bool]] = {patch.name: [] for patch in series.patches}
    for chain in todo:
        finished = max(done[chain.path])
        for number, patch in enumerate(chain.patches):
            present[patch].append((number < finished) != reverse)
    is_in = [name for name, states in present.items() if all(states)]
    is_out = [name for name, states in present.items() if not any(states)]
    halves = [name for name in present if name not in is_in and name not in is_out]
    parts = [
        f"{what}: {_listed(group)}"
        for what, group in (("in", is_in), ("not in", is_out), ("in for some of its files", halves))
        if group
    ]
    return PatchError(
        f"Only a part of the series is in {root} ({'; '.join(parts)}); nothing was changed. Take out what is "
        "in with 'patch -R -p1' or git, or write the series anew for this tree with 'patchkit fix'."
    )


def _listed(names: Sequence[str]) -> str:
    shown = list(names[: _SHOWN_FILES * 3])
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
