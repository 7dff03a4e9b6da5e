"""Names for the variables an edit adds: none that the function, or a macro, already uses."""

from __future__ import annotations

import re

from patchkit.fix.edits.kernel import Kernel


def temporary_name(kernel: Kernel, taken: frozenset[str]) -> str:
    """Return a name for the stand-in of the tensor: ``output_`` for ``output``, as upstream has it."""
    stem = stem_of(kernel)
    first = f"{stem}_" if not stem.endswith("_") else f"{stem}contiguous"
    return free([first, f"{stem.rstrip('_')}_contiguous"], taken)


def flag_name(kernel: Kernel, prefix: str, taken: frozenset[str], *, alone: bool) -> str:
    """Return a name for the guard; the tensor's name is added where the kernel has several results to guard."""
    long = f"{prefix}_{stem_of(kernel).rstrip('_')}"
    return free([prefix, long] if alone else [long], taken)


def stem_of(kernel: Kernel) -> str:
    """Return the name in the tensor's expression: ``running_mean`` for ``running_mean_opt.value()``."""
    words = [w for w in re.findall(r"[A-Za-z_]\w*", kernel.text(kernel.tensor)) if w not in _NOISE]
    stem = words[0] if words else "output"
    for ending in ("_opt_value", "_opt"):
        stem = stem.removesuffix(ending) or stem
    return stem


_NOISE = frozenset(("value", "const_cast", "Tensor", "get", "at", "std", "move", "iter", "c10"))


def free(wanted: list[str], taken: frozenset[str]) -> str:
    """Return the first of ``wanted`` that is not taken, else the last with a number."""
    for name in wanted:
        if name not in taken:
            return name
    number = 2
    while f"{wanted[-1]}{number}" in taken:
        number += 1
    return f"{wanted[-1]}{number}"
