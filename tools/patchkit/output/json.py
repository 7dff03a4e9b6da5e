"""The ``json`` format: the contract ``patchkit-scan/1``, one object and nothing else."""

from __future__ import annotations

import json
from dataclasses import asdict

from patchkit.output import Look
from patchkit.scan.findings import SCHEMA, ScanReport
from patchkit.source.tree import Tree


def render(report: ScanReport, tree: Tree, look: Look) -> str:
    """Return ``report`` as JSON in ASCII, with the keys in the order of the dataclasses."""
    facts = asdict(report)
    lists = {name: facts.pop(name) for name in ("findings", "cleared", "undecided", "set_aside", "notices")}
    return json.dumps({"schema": SCHEMA, **facts, **lists}, indent=2) + "\n"
