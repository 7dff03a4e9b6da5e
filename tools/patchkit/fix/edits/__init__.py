"""The text edits that make an MPS kernel keep its output; one module for each form of the defect."""

from __future__ import annotations

from patchkit.fix.edits.plan import is_fixable

__all__ = ["is_fixable"]
