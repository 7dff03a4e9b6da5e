"""Where a PyTorch source tree comes from: a folder, an archive, or a git remote.

Exports :func:`resolve`, which every command that takes a tree calls, and the :class:`Tree` it returns.
"""

from __future__ import annotations

from patchkit.source.locate import resolve
from patchkit.source.tree import Tree, open_tree

__all__ = ["Tree", "open_tree", "resolve"]
