"""Where each file of a tree stands in a series: before it, after it, somewhere inside, or elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from patchkit.errors import PatchError
from patchkit.fix.diff import FileDiff
from patchkit.fix.hunks import MisfitError, apply_exact, apply_moved
from patchkit.fix.series import Series


@dataclass(frozen=True)
class Chain:
    """The patches of a series that touch one file, in order.

    Args:
        patches: names of the patches.
        diffs: what each does to the file.
        versions: SHA-256 of the file before the first patch and after each.
    """

    path: str
    patches: tuple[str, ...]
    diffs: tuple[FileDiff, ...]
    versions: tuple[str, ...]

    def reversed(self) -> Chain:
        """Return the chain that undoes this one."""
        return Chain(
            self.path,
            self.patches[::-1],
            tuple(diff.reversed() for diff in reversed(self.diffs)),
            self.versions[::-1],
        )


@dataclass(frozen=True)
class Moved:
    """A hunk that fitted, but not at its line: ``lines`` further down (negative: further up)."""

    patch: str
    path: str
    hunk: int
    lines: int


class ChainMisfitError(Exception):
    """A patch of the chain does not fit; ``cause`` says which hunk and why."""

    def __init__(self, patch: str, cause: MisfitError) -> None:
        super().__init__(f"{patch} does not fit")
        self.patch = patch
        self.cause = cause


def chains(series: Series) -> tuple[Chain, ...]:
    """Return the chain of each file that ``series`` touches, sorted by path."""
    result = []
    for path in series.paths:
        patches = [patch for patch in series.patches if path in patch.diffs]
        first = patches[0].versions[path][0]
        result.append(
            Chain(
                path,
                tuple(patch.name for patch in patches),
                tuple(patch.diffs[path] for patch in patches),
                (first, *(patch.versions[path][1] for patch in patches)),
            )
        )
    return tuple(result)


def is_known(content: bytes, chain: Chain) -> bool:
    """Return whether ``content`` is one of the chain's versions, byte for byte."""
    return _digest(content) in chain.versions


def standing(content: bytes, chain: Chain) -> frozenset[int]:
    """Return how many patches of ``chain`` may be in ``content``: all numbers that are possible.

    A version known by its hash is taken at its word. Any other content holds the first N patches if undoing
    these fits and doing the others fits; empty where nothing fits.
    """
    known = frozenset(n for n, version in enumerate(chain.versions) if version == _digest(content))
    if known:
        return known
    return frozenset(n for n in range(len(chain.versions)) if _could_hold(content, chain, n))


def _could_hold(content: bytes, chain: Chain, count: int) -> bool:
    try:
        _run(content, [diff.reversed() for diff in reversed(chain.diffs[:count])], chain.patches[:count][::-1])
        _run(content, chain.diffs[count:], chain.patches[count:])
    except ChainMisfitError:
        return False
    return True


def run_chain(content: bytes, chain: Chain) -> tuple[bytes, tuple[Moved, ...]]:
    """Apply the whole chain to ``content``.

    Returns:
        The new content, and the hunks that had moved (none where ``content`` is the version it was made for).

    Raises:
        ChainMisfitError: a hunk has no place, or several.
        PatchError: the patches do not lead to the version the manifest names, or could not be undone again.
    """
    if _digest(content) == chain.versions[0]:
        return _run_recorded(content, chain), ()
    result, moved = _run(content, chain.diffs, chain.patches)
    back = chain.reversed()
    try:
        undone, _ = _run(result, back.diffs, back.patches)
    except ChainMisfitError:
        undone = b""
    if undone != content:
        raise PatchError(
            f"{chain.path} is not the file this series was made from, and the change could not be undone "
            "there again: write the series anew for this tree with 'patchkit fix'."
        )
    return result, tuple(
        Moved(patch, chain.path, number, lines)
        for patch, offsets in zip(chain.patches, moved, strict=True)
        for number, lines in enumerate(offsets, 1)
        if lines
    )


def _run_recorded(content: bytes, chain: Chain) -> bytes:
    for patch, diff, version in zip(chain.patches, chain.diffs, chain.versions[1:], strict=True):
        try:
            content = apply_exact(content, diff.hunks)
        except MisfitError as error:
            raise PatchError(f"{patch} does not fit the {chain.path} that its manifest names.") from error
        if _digest(content) != version:
            raise PatchError(f"{patch} does not lead to the {chain.path} that its manifest names.")
    return content


def _run(content: bytes, diffs: Sequence[FileDiff], patches: Sequence[str]) -> tuple[bytes, list[tuple[int, ...]]]:
    moved = []
    for patch, diff in zip(patches, diffs, strict=True):
        try:
            content, offsets = apply_moved(content, diff.hunks)
        except MisfitError as error:
            raise ChainMisfitError(patch, error) from error
        moved.append(offsets)
    return content, moved


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
