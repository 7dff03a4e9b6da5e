"""Kernels that Objective-C++ files register themselves, past ``native_functions.yaml``.

``TORCH_LIBRARY_IMPL(aten, MPS, m)`` blocks hold ``m.impl("overload", kernel)`` lines (``torch/library.h``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from patchkit.scan.registry.cpp_text import closing_brace
from patchkit.scan.registry.native_sources import NativeSources

_BLOCK = re.compile(r"\bTORCH_LIBRARY_IMPL\s*\(\s*aten\s*,\s*(\w*MPS)\s*,\s*(\w+)\s*\)\s*\{")
_KERNEL = (
    r'\.impl\(\s*(?:TORCH_SELECTIVE_NAME\(\s*)?"(?:aten::)?([\w.]+)"\s*\)?\s*,'
    r"\s*(?:TORCH_FN\(\s*)?&?([\w:]+)\s*\)"
)


@dataclass(frozen=True)
class RegisteredKernel:
    """An overload, the C++ function registered for it without namespaces, and under which dispatch key."""

    overload: str
    kernel: str
    key: str


def registered_kernels(sources: NativeSources) -> Iterator[RegisteredKernel]:
    """Registrations in the MPS folder; fallthroughs and boxed fallbacks, which are calls, are left out."""
    for file in sources.containing("TORCH_LIBRARY_IMPL", mps=True):
        source = sources.source(file)
        for block in _BLOCK.finditer(source.code):
            # Names are string literals: read them where the blanked text shows code, not comment.
            end = closing_brace(source.code, block.end() - 1)
            kernel = re.compile(rf"\b{block[2]}{_KERNEL}")
            for match in kernel.finditer(sources.original(file), block.end(), end):
                if source.code[match.start()] != " ":
                    yield RegisteredKernel(match[1], match[2].rpartition("::")[2], block[1])
