"""A real PyTorch tree for the tests that need one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from patchkit.scan import analyse, scan_tree
from patchkit.scan.engine import Engine
from patchkit.scan.findings import ScanReport
from patchkit.source.tree import Tree

#: Which Debian suite carries which release; ``ci/fetch-debian-trees.sh`` downloads them.
SUITES = {"1.13.1": "bookworm", "2.6.0": "trixie"}
RELEASES = tuple(SUITES)


@dataclass(frozen=True)
class Release:
    """A real tree; its analysis and its report are made when first asked for."""

    version: str
    tree: Tree

    @cached_property
    def report(self) -> ScanReport:
        return scan_tree(self.tree)

    @cached_property
    def engine(self) -> Engine:
        return analyse(self.tree)
