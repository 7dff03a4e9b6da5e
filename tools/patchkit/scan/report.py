"""From what the engine saw to findings, cleared and undecided sites: the words a maintainer reads."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from patchkit.scan.engine import Engine, Site, Verdict
from patchkit.scan.findings import Cleared, Finding, TraceStep, Undecided
from patchkit.scan.layout import reported
from patchkit.scan.syntax import Function
from patchkit.scan.walk import miscounted

RULES = {
    "lost": "MPS101",
    "misplaced": "MPS102",
    "garbage": "MPS103",
    "dropped": "MPS104",
    "restrided": "MPS105",
}
_ORDER = ("lost", "misplaced", "garbage", "dropped", "restrided")
_TRIGGERS = ("inplace", "out", "functional", "backward")


#: Says of a graph result whether a template covers it and, if none does, why; :mod:`patchkit.fix` has one.
Fixable = Callable[[Engine, Site], tuple[bool, str]]


def findings_of(engine: Engine, fixable: Fixable | None = None) -> tuple[list[Finding], list[Cleared], list[Undecided]]:
    """Sort every graph result the engine met into exactly one of the three lists."""
    findings: list[Finding] = []
    cleared: list[Cleared] = []
    undecided: list[Undecided] = []
    for site in sorted(engine.sites.values(), key=lambda x: (x.file, x.start)):
        line, _ = engine.sources.position(site.file, site.start)
        bad = [v for vs in site.verdicts.values() for v in vs if v.effect != "ok"]
        if site.verdicts and all(engine.ways[name].kind == "leftover" for name in site.verdicts):
            if engine.gave_up:
                why = "the kernels that lead here could not all be followed"
                undecided.append(Undecided(site.file, line, site.function, site.text, why))
            else:
                why = "no overload that MPS tensors reach runs this function"
                cleared.append(Cleared(site.file, line, site.function, site.text, "unreachable", why))
        elif bad:
            findings.append(_finding(engine, site, bad, fixable))
        elif site.unknown or not site.verdicts:
            undecided.append(Undecided(site.file, line, site.function, site.text, site.unknown or "no path runs it"))
        else:
            reason, detail = _reason(engine, site)
            cleared.append(Cleared(site.file, line, site.function, site.text, reason, detail))
    return _fingerprints(findings), cleared, undecided


def _finding(engine: Engine, site: Site, bad: list[Verdict], fixable: Fixable | None = None) -> Finding:
    effect = min((v.effect for v in bad), key=_ORDER.index)
    atoms = frozenset().union(*(v.atoms for v in bad))
    macos = frozenset().union(*(v.macos for v in bad))
    hit = sorted(name for name, vs in site.verdicts.items() if any(v.effect != "ok" for v in vs))
    layouts = reported(atoms)
    ops, triggers = _reach(engine, site, hit, frozenset(layouts))
    line, column = engine.sources.position(site.file, site.start)
    end_line, _ = engine.sources.position(site.file, max(site.start, site.end - 1))
    worst = next(v for v in bad if v.effect == effect)
    can, why_not = fixable(engine, site) if fixable is not None else (False, "")
    return Finding(
        rule=RULES[effect],
        effect=effect,
        layouts=layouts,
        macos="all" if len(macos) == 2 else next(iter(macos)),
        file=site.file,
        line=line,
        column=column,
        end_line=end_line,
        function=site.function,
        tensor=site.text,
        ops=ops,
        triggers=triggers,
        confidence=_confidence(site, bad),
        message=_message(site, worst, layouts),
        trace=_trace(engine, site, worst, hit),
        fixable=can,
        fingerprint="",
        not_fixable_because=why_not,
    )


def _functional_callers(engine: Engine, names: tuple[str, ...]) -> list[str]:
    """Functional operators that call one of these in place on a tensor they allocate in their input's layout.

    ``rand_like`` fills ``empty_like(self)`` with ``uniform_``: what ``uniform_`` loses, it loses too.
    """
    found: dict[str, None] = {}
    for name in names:
        overload = engine.registry.overloads[name]
        if overload.kind != "inplace" or overload.structured_delegate:
            continue
        for call in engine.registry.operator_calls(name):
            for origin in (o for group in call.origins for o in group):
                if origin.owner == "fresh" and origin.layouts & {"preserved", "channels_last"}:
                    caller = engine.registry.overloads.get(origin.overload)
                    if origin.exact and caller is not None and caller.kind == "functional":
                        found[origin.overload] = None
    return [name for name in found if name not in names]


def _reach(
    engine: Engine, site: Site, hit: list[str], layouts: frozenset[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Overload names that reach the site, and how: in-place, ``out=``, functional, backward."""
    triggers: set[str] = set()
    names: list[str] = []
    for name in hit:
        entry = engine.ways[name]
        if entry.use is not None:
            names.append(name)
            if entry.kind == "mutable":  # it writes some arguments in place and returns others
                bad = [v for v in site.verdicts[name] if v.effect != "ok"]
                triggers.update("inplace" if v.role == "output" else "functional" for v in bad)
            else:
                triggers.update(entry.use.triggers)
        else:
            names.extend(entry.names)
            triggers.update(entry.triggers)
    if layouts & {"strided", "channels_last"}:
        for name in _functional_callers(engine, tuple(n for n in names if n in engine.registry.overloads)):
            names.append(name)
            triggers.add("functional")
    return tuple(dict.fromkeys(names)), tuple(t for t in _TRIGGERS if t in triggers)


def _confidence(site: Site, bad: list[Verdict]) -> str:
    """High where every path with that layout goes wrong, medium where some other condition decides."""
    for overload, verdicts in site.verdicts.items():
        wrong = [v for v in verdicts if v.effect != "ok"]
        right = [v for v in verdicts if v.effect == "ok" and v.reason not in ("unread", "raises")]
        for v in wrong:
            atoms = v.atoms - frozenset("C")
            if atoms and not any(atoms & r.atoms and v.macos & r.macos for r in right):
                return "high"
        _ = overload
    return "medium"


_LAYOUT_WORDS = {
    ("strided", "channels_last", "offset"): "not contiguous or has a storage offset",
    ("strided", "channels_last"): "not contiguous",
    ("strided", "offset"): "strided or has a storage offset",
    ("channels_last", "offset"): "channels_last or has a storage offset",
    ("strided",): "strided",
    ("channels_last",): "channels_last",
    ("offset",): "contiguous with a storage offset",
    (): "of any layout",
}


def _message(site: Site, verdict: Verdict, layouts: tuple[str, ...]) -> str:
    kinds = _LAYOUT_WORDS[layouts]
    if verdict.effect == "lost" and verdict.reason == "gathered":
        return (
            f"the Placeholder copies `{site.text}` into a temporary when that is {kinds}; "
            "the graph writes the temporary and the result is lost"
        )
    if verdict.effect == "lost":
        return (
            f"the result is written to `{site.text}`, which is not copied back into `{verdict.output}` "
            f"when that is {kinds}"
        )
    if verdict.effect == "misplaced":
        return (
            f"gathering is switched off, so the result is written densely from the start of the buffer of "
            f"`{site.text}`: in the wrong places when that is {kinds}"
        )
    if verdict.effect == "restrided":
        return f"`{verdict.output}` is given other strides: a caller's {kinds} tensor is no longer laid out as it was"
    return f"`{verdict.output}` is pointed at another tensor; the caller's tensor never gets the result"


def _trace(engine: Engine, site: Site, verdict: Verdict, hit: list[str]) -> tuple[TraceStep, ...]:
    steps: list[TraceStep] = []
    position = engine.sources.position
    entry = engine.ways[hit[0]]
    line = position(entry.function.file, entry.function.start)[0]
    steps.append(TraceStep(line, f"{entry.label} enters here", entry.function.file))
    holder = next((f for f in engine.sources.functions.get(site.function, []) if f.file == site.file), None)
    if holder is not None and holder is not entry.function:
        steps.append(TraceStep(position(site.file, holder.start)[0], f"which calls {site.function}", site.file))
    line = position(site.file, site.start)[0]
    if verdict.effect == "misplaced":
        steps.append(
            TraceStep(line, f"`{site.text}` is bound without gathering: its buffer, from the start", site.file)
        )
    elif verdict.reason == "gathered":
        steps.append(TraceStep(line, f"the Placeholder makes a contiguous copy of `{site.text}`", site.file))
    else:
        steps.append(TraceStep(line, f"the graph's result goes to `{site.text}`", site.file))
    if verdict.run >= 0 and verdict.run_file:
        steps.append(TraceStep(position(verdict.run_file, verdict.run)[0], "the graph runs", verdict.run_file))
    if holder is not None and verdict.effect == "lost":
        end = position(site.file, holder.end - 1)[0]
        target = site.text if verdict.reason == "gathered" else verdict.output
        steps.append(TraceStep(end, f"the function ends without copying back into `{target}`", site.file))
    return tuple(steps)


_REASONS = (
    ("copy_back", "the result goes to a contiguous temporary that is copied back into the caller's tensor"),
    ("strided", "the data object honours strides and offset of the caller's tensor"),
)


def _reason(engine: Engine, site: Site) -> tuple[str, str]:
    verdicts = [v for vs in site.verdicts.values() for v in vs]
    reasons = Counter(v.reason for v in verdicts)
    ways = [engine.ways[name] for name in site.verdicts]
    if "copy_back" in reasons:
        return "copy_back", _REASONS[0][1]
    if any(layout.proxied for w in ways for layout in w.outputs):
        return "structured_proxy", "the meta function asks for strides, so the wrapper hands over a proxy"
    if reasons.keys() <= {"fresh", "unread", "raises", "direct"}:
        if any(v.role == "fresh" for v in verdicts):
            inside = any(v.made_in == site.function for v in verdicts)
            if inside:
                return "fresh_contiguous", "the tensor is allocated contiguous in this function"
            return "caller_fresh", "every caller passes a contiguous tensor it has just allocated"
        if "direct" in reasons:
            return "contiguous_only", "only contiguous tensors without a storage offset arrive here"
        return "fresh_contiguous", "the tensor is allocated contiguous"
    if "strided" in reasons:
        return "strides_honoured", _REASONS[1][1]
    return "overwritten", "what the graph leaves is overwritten before the kernel returns"


def _fingerprints(findings: Iterable[Finding]) -> list[Finding]:
    """Give each finding a name that survives lines moving: rule, file, function, tensor, and its place among equals."""
    seen: Counter[tuple[str, ...]] = Counter()
    out = []
    for finding in findings:
        key = (finding.rule, finding.file, finding.function, "".join(finding.tensor.split()))
        text = "\0".join((*key, str(seen[key])))
        seen[key] += 1
        out.append(replace(finding, fingerprint=hashlib.sha256(text.encode()).hexdigest()[:24]))
    return out


def unreadable(engine: Engine) -> list[Undecided]:
    """Files and functions the scan could not read or follow: reported, never skipped in silence."""
    out = [Undecided(p.file, p.line, p.function, "", p.why) for p in engine.sources.problems]
    for functions in engine.sources.functions.values():
        for function in functions:
            line = engine.sources.position(function.file, function.start)[0]
            if function.has_error and b"Placeholder" in function.text:
                why = "the parser cannot read a part of this function"
                out.append(Undecided(function.file, line, function.name, "", why))
            elif function.name in engine.gave_up:
                out.append(Undecided(function.file, line, function.name, "", engine.gave_up[function.name]))
            elif why := _miscounted(function):
                out.append(Undecided(function.file, line, function.name, "", why))
    return out


def _miscounted(function: Function) -> str:
    try:
        return miscounted(function)
    except RecursionError:
        return "the function is nested too deeply to read"
