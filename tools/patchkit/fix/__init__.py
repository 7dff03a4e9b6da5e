"""Make patches for what a scan finds: edits verified by a second scan, written as a series or into the tree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from patchkit.fix.series import Patch
    from patchkit.scan.engine import Engine, Site
    from patchkit.scan.findings import Finding
    from patchkit.source.tree import Tree

__all__ = ["FixResult", "fix_tree", "is_fixable"]


def is_fixable(engine: Engine, site: Site) -> tuple[bool, str]:
    """Return whether a template covers a site of a scan, and if none does, why not.

    Args:
        engine: a finished scan.
        site: one of its graph results that has a finding.
    """
    from patchkit.fix.edits import is_fixable as covered

    return covered(engine, site)


@dataclass(frozen=True)
class FixResult:
    """What :func:`fix_tree` made.

    Args:
        patches: in order; one for each kernel file, or one for the recipe.
        not_fixed: the findings without a patch, each with the reason.
        folder: where the series was written, None where none was.
        edited: paths of the files that were changed in place.
    """

    patches: tuple[Patch, ...]
    not_fixed: tuple[tuple[Finding, str], ...]
    folder: Path | None = None
    edited: tuple[str, ...] = ()


def fix_tree(
    tree: Tree,
    out: Path | None = None,
    *,
    check: bool = False,
    in_place: bool = False,
    recipe: str | None = None,
) -> FixResult:
    """Make the patches that cure the findings of a tree.

    Args:
        tree: the tree; written to only with ``in_place``.
        out: folder for the series, ``patchkit-out/<version>`` if None; nothing is written where nothing is to patch.
        check: write nothing.
        in_place: edit the files of the tree, all or none, instead of writing a series.
        recipe: make only the patch of this recipe.

    Returns:
        The patches, the same bytes on every run, and the findings that have none. Every edit was verified: a scan of
        the edited tree shows its finding gone, no other result worse and nothing new that the parser cannot read.

    Raises:
        UsageError: there is no such recipe, or ``in_place`` names a tree in patchkit's cache.
        InputError: the tree cannot be read, or the installation is incomplete.
        OutputError: the folder or the tree cannot be written.
        PatchError: with ``in_place``, a file to be edited has uncommitted changes in git.
    """
    from patchkit import __version__
    from patchkit.errors import UsageError
    from patchkit.fix.patches import make_patches

    if in_place and tree.cached:
        raise UsageError(
            f"{tree.given} is checked out in patchkit's cache, which is never edited; "
            "write a series, or check it out with 'patchkit checkout --into DIR'."
        )
    patches, not_fixed = make_patches(tree, recipe)
    if check or not patches:
        return FixResult(patches, not_fixed)
    if in_place:
        from patchkit.fix.apply import check_uncommitted
        from patchkit.fix.transaction import edit_tree

        changes = [change for patch in patches for change in patch.changes]
        check_uncommitted(tree.root, changes)
        return FixResult(patches, not_fixed, edited=edit_tree(tree.root, changes))
    from patchkit.fix.base import describe_base
    from patchkit.fix.series import write_series

    folder = out if out is not None else Path("patchkit-out") / tree.version
    write_series(folder, describe_base(tree), patches, tool_version=__version__)
    return FixResult(patches, not_fixed, folder)
