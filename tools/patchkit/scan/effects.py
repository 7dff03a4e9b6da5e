"""From what Metal and matrix kernels wrote, and what became of the caller's handles, to findings and cleared sites."""

from __future__ import annotations

from dataclasses import replace

from patchkit.scan.engine import Engine, Site, Verdict
from patchkit.scan.findings import Cleared, Finding, TraceStep, Undecided
from patchkit.scan.layout import reported
from patchkit.scan.report import _LAYOUT_WORDS, _finding, _fingerprints

#: The rule of a write that no graph made.
METAL_RULE = "MPS107"
_SAID = {
    "dropped": "the handle of `{output}` is pointed at another tensor; the caller's tensor is never written",
    "restrided": "`{output}` is only read here, and gets other strides: its elements change places for its owner "
    "when it is {kinds}",
    "garbage": "the temporary for the result is shaped after `{model}`: where `{model}` broadcasts, the result does "
    "not fit into it",
}
_STEP = {
    "dropped": "`{output}` is assigned another tensor",
    "restrided": "the strides of `{output}` are changed in place",
    "garbage": "the result goes to a temporary made like `{model}`, not like `{output}`",
}
_CLEARED = (
    ("copy_back", "the kernel writes a contiguous temporary that is copied back into the caller's tensor"),
    (
        "strided",
        "the kernel is told the strides of the tensor, or only dense layouts that it writes rightly arrive here",
    ),
    ("fresh", "the tensor is allocated contiguous"),
    ("direct", "only contiguous tensors without a storage offset arrive here"),
)


def writes_of(engine: Engine) -> tuple[list[Finding], list[Cleared], list[Undecided]]:
    """Sort every tensor that a Metal or matrix kernel writes into exactly one of the three lists."""
    findings: list[Finding] = []
    cleared: list[Cleared] = []
    undecided: list[Undecided] = []
    for key, site in sorted(engine.writes.items()):
        line, _ = engine.sources.position(site.file, site.start)
        bad = [v for verdicts in site.verdicts.values() for v in verdicts if v.effect == "misplaced"]
        if bad:
            findings.append(_misplaced(engine, site, bad, engine.machine.metal.named.get(key, "")))
        elif site.unknown:
            why = "the Metal kernel behind this dispatch, or where it stores, is not followed"
            undecided.append(Undecided(site.file, line, site.function, site.text, why))
        else:
            reasons = {v.reason for verdicts in site.verdicts.values() for v in verdicts}
            reason, detail = next((r for r in _CLEARED if r[0] in reasons), ("overwritten", "it is written again"))
            name = {"strided": "strides_honoured", "direct": "contiguous_only", "fresh": "fresh_contiguous"}
            cleared.append(Cleared(site.file, line, site.function, site.text, name.get(reason, reason), detail))
    return _fingerprints(findings), cleared, undecided


def _misplaced(engine: Engine, site: Site, bad: list[Verdict], kernels: str) -> Finding:
    kinds = _LAYOUT_WORDS[reported(frozenset().union(*(v.atoms for v in bad)))]
    if kernels:
        names = kernels.split(", ")
        what = f"the Metal kernel `{names[0]}`" if len(names) == 1 else "the Metal kernel"
        stored, where = f"`{site.text}`", "stores one element after another"
    else:
        what = "the matrix kernel"
        stored, where = f"the memory of `{min(v.output for v in bad)}`", "writes one row after another"
    finding = _finding(engine, _only(site, bad), bad)
    line = engine.sources.position(site.file, site.start)[0]
    last = TraceStep(line, f"{what} takes `{site.text}` without strides and {where}", site.file)
    message = f"{what} writes {stored} densely and is not given its strides: in the wrong places when it is {kinds}"
    return replace(finding, rule=METAL_RULE, message=message, trace=(*finding.trace[:-1], last))


def handles_of(engine: Engine) -> list[Finding]:
    """Findings about the caller's handles: dropped outputs, restrided inputs, temporaries of another shape."""
    judged = {
        (site.file, site.function)
        for site in engine.sites.values()
        for verdicts in site.verdicts.values()
        if any(v.effect == "dropped" for v in verdicts)
    }
    merged: dict[tuple[str, ...], Site] = {}
    for (effect, file, _, name), site in sorted(engine.handles.items()):
        if effect == "dropped" and (file, site.function) in judged:
            continue  # the graph results of this function say so already
        place = "" if effect != "garbage" else str(site.start)
        known = merged.setdefault((effect, file, site.function, name, place), site)
        if known is not site:  # one branch and the other assign the same handle: one finding, at the first
            for overload, verdicts in site.verdicts.items():
                known.verdicts.setdefault(overload, set()).update(verdicts)
    return _fingerprints([_handle(engine, site) for site in merged.values()])


def _handle(engine: Engine, site: Site) -> Finding:
    verdicts = sorted({v for vs in site.verdicts.values() for v in vs}, key=lambda v: (v.output, sorted(v.atoms)))
    finding = _finding(engine, site, verdicts)
    first = verdicts[0]
    words = {"output": first.output, "model": first.reason, "kinds": _LAYOUT_WORDS[finding.layouts]}
    step = TraceStep(finding.line, _STEP[first.effect].format(**words), site.file)
    return replace(
        finding,
        confidence=_confidence(engine, site, finding),
        message=_SAID[first.effect].format(**words),
        trace=(*finding.trace[:-1], step),
    )


def _confidence(engine: Engine, site: Site, finding: Finding) -> str:
    """Medium where shapes decide, or where another path of the same call leaves the handle alone."""
    if finding.effect == "garbage" or (finding.effect == "dropped" and site.verdicts.keys() <= engine.kept):
        return "medium"
    return finding.confidence


def _only(site: Site, bad: list[Verdict]) -> Site:
    """The site with those verdicts only that are right or among ``bad``."""
    wrong = set(bad)
    verdicts = {name: {v for v in vs if v.effect == "ok" or v in wrong} for name, vs in site.verdicts.items()}
    return Site(site.file, site.start, site.end, site.function, site.text, verdicts)
