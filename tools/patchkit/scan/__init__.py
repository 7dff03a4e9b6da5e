"""Find the MPS kernels of a PyTorch tree that lose or misplace a non-contiguous output."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchkit.scan.engine import Engine
    from patchkit.scan.findings import ScanReport
    from patchkit.scan.report import Fixable
    from patchkit.source.tree import Tree

__all__ = ["analyse", "scan_tree"]


def scan_tree(tree: Tree, *, fixable: Fixable | None = None) -> ScanReport:
    """Scan every MPS kernel of a tree.

    Args:
        tree: the tree; it is only read.
        fixable: says whether a template covers a finding; without it no finding counts as fixable.

    Returns:
        Every graph result of the tree in exactly one of findings, cleared and undecided.

    Raises:
        InputError: ``native_functions.yaml`` is missing or unreadable.
    """
    from patchkit.scan.effects import handles_of, writes_of
    from patchkit.scan.findings import ScanReport
    from patchkit.scan.report import findings_of, unreadable

    started = time.perf_counter()
    engine = analyse(tree)
    findings, cleared, undecided = findings_of(engine, fixable)
    undecided += unreadable(engine)
    sites = len(findings) + len(cleared) + sum(bool(u.tensor) for u in undecided)
    written, unhurt, unsure = writes_of(engine)
    return ScanReport(
        torch_version=tree.version,
        root=tree.given,
        files=len(engine.sources.files),
        sites=sites,
        seconds=round(time.perf_counter() - started, 3),
        findings=(*findings, *written, *handles_of(engine)),
        cleared=(*cleared, *unhurt),
        undecided=(*undecided, *unsure),
        writes=len(engine.writes),
    )


def analyse(tree: Tree, replaced: Mapping[str, bytes] | None = None) -> Engine:
    """Parse a tree and run all its kernels; what ``fix`` works from.

    Args:
        tree: the tree; it is only read.
        replaced: contents to use instead of those on disk, by path relative to the tree: a patched kernel can be
            judged before it is written anywhere.
    """
    from patchkit.scan.engine import Engine
    from patchkit.scan.registry import load_registry
    from patchkit.scan.sources import load_sources

    engine = Engine(load_sources(tree.root, replaced), load_registry(tree.root))
    collecting = gc.isenabled()
    gc.disable()  # nothing that a run makes is cyclic garbage; looking for it costs a sixth of the time
    try:
        engine.run()
    finally:
        if collecting:
            gc.enable()
    return engine
