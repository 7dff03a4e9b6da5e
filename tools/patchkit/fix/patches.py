"""From a scan to patches: one for each kernel file, or one for a recipe, with the message of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from patchkit.fix.diff import FileChange
from patchkit.fix.edits.kernel import NO_PLACEHOLDER
from patchkit.fix.edits.templates import render_inline
from patchkit.fix.edits.verify import Cure, cure
from patchkit.fix.message import commit_message
from patchkit.fix.recipes import Recipe, find_recipe, load_recipes
from patchkit.fix.series import Patch
from patchkit.scan import analyse
from patchkit.scan.findings import Finding
from patchkit.scan.report import findings_of

if TYPE_CHECKING:
    from patchkit.scan.engine import Engine, Site
    from patchkit.source.tree import Tree

NotFixed = tuple[tuple[Finding, str], ...]


def make_patches(tree: Tree, recipe_name: str | None = None) -> tuple[tuple[Patch, ...], NotFixed]:
    """Scan a tree and return its patches, and the findings without one with the reason.

    Args:
        tree: the tree; it is only read.
        recipe_name: only the kernels of this recipe, as one patch.

    Raises:
        UsageError: there is no such recipe.
        InputError: the tree cannot be read, or the installation is incomplete.
    """
    recipe = find_recipe(recipe_name, load_recipes()) if recipe_name is not None else None
    engine = analyse(tree)
    findings = [f for f in findings_of(engine)[0] if recipe is None or f.function in recipe.kernels]
    found = _sites(engine, findings)
    cured = cure(tree, engine, [site for site, _ in found])
    reasons = {
        finding.fingerprint: cured.refused[site.file, site.start]
        for site, finding in found
        if (site.file, site.start) not in cured.templates
    }
    without = {f.fingerprint for f in findings} - {f.fingerprint for _, f in found}
    reasons |= dict.fromkeys(without, NO_PLACEHOLDER)
    not_fixed = tuple((f, reasons[f.fingerprint]) for f in findings if f.fingerprint in reasons)
    return tuple(_patches(tree, engine, found, cured, recipe)), not_fixed


def _sites(engine: Engine, findings: Sequence[Finding]) -> list[tuple[Site, Finding]]:
    """Each finding that is about a graph result, with that result."""
    places = {(site.file, *engine.sources.position(site.file, site.start)): site for site in engine.sites.values()}
    found = ((places.get((f.file, f.line, f.column)), f) for f in findings)
    return [(site, finding) for site, finding in found if site is not None]


def _patches(
    tree: Tree, engine: Engine, found: Sequence[tuple[Site, Finding]], cured: Cure, recipe: Recipe | None
) -> list[Patch]:
    contents = cured.contents(engine)
    groups: dict[str, list[str]] = {}
    for path in contents:
        groups.setdefault(recipe.name if recipe else path, []).append(path)
    out = []
    for name, paths in groups.items():
        fixed = [(s, f) for s, f in found if s.file in paths and (s.file, s.start) in cured.templates]
        templates = list(dict.fromkeys(cured.templates[s.file, s.start] for s, _ in fixed))
        changes = [
            FileChange(path, engine.sources.files[path].source, contents[path], _executable(tree, path))
            for path in paths
        ]
        out.append(_patch(tree, name, changes, [f for _, f in fixed], templates, recipe))
    return out


def _patch(
    tree: Tree,
    name: str,
    changes: Sequence[FileChange],
    findings: Sequence[Finding],
    templates: Sequence[str],
    recipe: Recipe | None,
) -> Patch:
    from patchkit import __version__

    template = ", ".join(templates)
    subject, body = commit_message(
        findings,
        change=" ".join(render_inline(one, "change") for one in templates),
        template=template,
        torch_version=tree.version,
        tool_version=__version__,
        recipe=recipe,
    )
    slug = recipe.name if recipe else _slug(name)
    return Patch(
        slug,
        subject,
        body,
        tuple(changes),
        template,
        recipe.name if recipe else None,
        tuple(finding.fingerprint for finding in findings),
    )


def _slug(path: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", PurePosixPath(path).stem).lower()
    return "mps-" + (re.sub(r"[^a-z0-9._-]+", "-", words).strip("-") or "kernel")


def _executable(tree: Tree, path: str) -> bool:
    return bool((tree.root / path).stat().st_mode & 0o100)
