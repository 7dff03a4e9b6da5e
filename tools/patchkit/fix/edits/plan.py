"""Which edits may cure a finding: chosen by the effect and by what the kernel already has."""

from __future__ import annotations

from patchkit.fix.edits.allocation import contiguous_allocation
from patchkit.fix.edits.copy_back import Edits, copy_back
from patchkit.fix.edits.kernel import Kernel, RefusedError, kernel_of
from patchkit.fix.edits.repair import existing, repairs
from patchkit.fix.edits.restrided import KEEP_STRIDES, without_restride
from patchkit.scan.engine import Engine, Site

_COVERED = frozenset(("lost", "misplaced", "restrided", "garbage"))


def candidates(engine: Engine, site: Site, taken: frozenset[str] = frozenset()) -> list[Edits]:
    """Return the edits that may cure a site, best first; none is verified yet.

    Args:
        engine: a finished scan.
        site: one of its graph results that has a finding.
        taken: names that edits of other sites add to the same function.

    Raises:
        RefusedError: no template covers the site; the message says why.
    """
    effects = effects_of(site)
    if not effects <= _COVERED:
        raise RefusedError(f"no template covers an output that is {' and '.join(sorted(effects - _COVERED))}")
    kernel = kernel_of(engine, site)
    if "restrided" in effects:
        strides = without_restride(kernel)
        made = copy_back(engine, kernel, taken, alone=_alone(engine, kernel))
        return [Edits(KEEP_STRIDES, (*strides, *made.edits), made.names)]
    own = existing(kernel)
    if own is not None:
        return repairs(engine, kernel, own)
    if "garbage" in effects:
        raise RefusedError("the kernel has no temporary of its own whose shape or type could be changed")
    try:
        return [copy_back(engine, kernel, taken, alone=_alone(engine, kernel))]
    except RefusedError as refused:
        try:
            return [contiguous_allocation(kernel)]
        except RefusedError:
            raise refused from None


def is_fixable(engine: Engine, site: Site) -> tuple[bool, str]:
    """Return whether a template covers a site, and if none does, why; what ``fix`` then offers is verified as well.

    Args:
        engine: a finished scan.
        site: one of its graph results that has a finding.
    """
    try:
        candidates(engine, site)
    except RefusedError as refused:
        return False, str(refused)
    return True, ""


def effects_of(site: Site) -> frozenset[str]:
    """The effects that paths of a site have, ``ok`` left out."""
    return frozenset(v.effect for vs in site.verdicts.values() for v in vs if v.effect != "ok")


def _alone(engine: Engine, kernel: Kernel) -> bool:
    function = kernel.function
    others = [
        site
        for site in engine.sites.values()
        if site.file == function.file and function.start <= site.start < function.end and effects_of(site)
    ]
    return len(others) == 1
