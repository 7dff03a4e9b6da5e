"""Edits are offered only once a scan of the edited tree has shown that they cure, and harm nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from patchkit.fix.edits.copy_back import Edits
from patchkit.fix.edits.includes import include_op
from patchkit.fix.edits.kernel import RefusedError
from patchkit.fix.edits.plan import candidates, effects_of
from patchkit.fix.edits.text import OverlapError, TextEdit, apply_edits, in_order, moved
from patchkit.scan import analyse
from patchkit.scan.engine import Engine, Site, SiteKey
from patchkit.scan.sources import load_sources
from patchkit.source.tree import Tree

#: Rounds after which what is still unsettled is given up; each round scans the edited tree once.
MAX_ROUNDS = 12
_UNCURED = "the edit that fits this form does not cure it: a scan of the edited kernel still reports the loss"


@dataclass(frozen=True)
class Cure:
    """The verified edits of a tree.

    Args:
        templates: by site, the template that cured it.
        refused: by site, why none did.
        edits: by file, in order, the includes they need among them.
    """

    templates: Mapping[SiteKey, str]
    refused: Mapping[SiteKey, str]
    edits: Mapping[str, Sequence[TextEdit]]

    def contents(self, engine: Engine) -> dict[str, bytes]:
        """The new bytes of every file that changes."""
        return _contents(engine, self.edits)


@dataclass
class _Search:
    """Which candidate each site is at, how many it has, and why it is not at the one before."""

    engine: Engine
    wanted: list[Site]
    place: dict[SiteKey, int] = field(default_factory=dict)
    counts: dict[SiteKey, int] = field(default_factory=dict)
    why: dict[SiteKey, str] = field(default_factory=dict)
    refused: dict[SiteKey, str] = field(default_factory=dict)

    def next(self, key: SiteKey, why: str) -> None:
        """Go on to the next candidate of a site; ``why`` is kept in case there is none."""
        self.place[key] = self.place.get(key, 0) + 1
        self.why[key] = why

    def chosen(self) -> dict[SiteKey, Edits]:
        """The current candidate of every site that has one, names and bytes kept apart."""
        out: dict[SiteKey, Edits] = {}
        taken: dict[tuple[str, str], frozenset[str]] = {}
        edits: dict[str, list[TextEdit]] = {}
        for site in self.wanted:
            key = (site.file, site.start)
            if key in self.refused:
                continue
            where = (site.file, site.function)
            try:
                found = candidates(self.engine, site, taken.get(where, frozenset()))
                place, self.counts[key] = self.place.get(key, 0), len(found)
                if place >= len(found):
                    raise RefusedError(self.why[key])
                in_order([*edits.get(site.file, []), *found[place].edits])
            except RefusedError as refused:
                self.refused[key] = str(refused)
                continue
            except OverlapError:
                self.refused[key] = "its edit and that of another result of the same kernel touch the same text"
                continue
            out[key] = found[place]
            edits.setdefault(site.file, []).extend(found[place].edits)
            taken[where] = taken.get(where, frozenset()) | found[place].names
        return out


def cure(tree: Tree, engine: Engine, wanted: Sequence[Site]) -> Cure:
    """Find edits for ``wanted`` and verify them by scanning the edited tree.

    Args:
        tree: the tree; it is only read.
        engine: a finished scan of it.
        wanted: graph results that have findings.

    Returns:
        The edits after which every site they are for is cured, no other site is worse than before, and no file has
        more that the parser cannot read.
    """
    search = _Search(engine, sorted(wanted, key=lambda site: (site.file, site.start)))
    while _try_out(tree, engine, search):
        pass
    for _ in range(MAX_ROUNDS):
        chosen = search.chosen()
        edits = _by_file(engine, chosen)
        if not chosen:
            return Cure({}, search.refused, {})
        if not _reject(tree, engine, search, chosen, edits):
            return Cure({key: one.template for key, one in chosen.items()}, search.refused, edits)
    rest = dict.fromkeys(search.chosen(), "the edits of this tree do not settle")
    return Cure({}, {**search.refused, **rest}, {})


def _try_out(tree: Tree, engine: Engine, search: _Search) -> bool:
    """Scan only the kernels that have several candidates and send those on whose current one does not cure.

    Returns:
        Whether there was one that now has another candidate to try.
    """
    several = {key: one for key, one in search.chosen().items() if search.place.get(key, 0) + 1 < search.counts[key]}
    if not several:
        return False
    edits = _by_file(engine, several)
    overloads = {name for key in several for name in engine.sites[key].verdicts}
    trial = Engine(load_sources(tree.root, _contents(engine, edits)), engine.registry)
    for entry in chain(trial.entries(), trial.leftovers()):
        if entry.overload in overloads:
            trial.enter(entry)
    bad = [key for key in several if not _cured(engine.sites[key], trial.sites.get(_place(key, edits)))]
    for key in bad:
        search.next(key, _UNCURED)
    return bool(bad)


def _contents(engine: Engine, edits: Mapping[str, Sequence[TextEdit]]) -> dict[str, bytes]:
    return {path: apply_edits(engine.sources.files[path].source, done) for path, done in edits.items()}


def _place(key: SiteKey, edits: Mapping[str, Sequence[TextEdit]]) -> SiteKey:
    return key[0], moved(key[1], edits.get(key[0], ()))


def _by_file(engine: Engine, chosen: Mapping[SiteKey, Edits]) -> dict[str, list[TextEdit]]:
    out: dict[str, list[TextEdit]] = {}
    for (file, _), one in chosen.items():
        out.setdefault(file, []).extend(one.edits)
    for file, edits in out.items():
        if any(b"at::empty_like(" in edit.text for edit in edits):
            edits += include_op(engine.sources.files[file].source, "empty_like")
    return {file: in_order(edits) for file, edits in sorted(out.items())}


def _reject(
    tree: Tree,
    engine: Engine,
    search: _Search,
    chosen: Mapping[SiteKey, Edits],
    edits: Mapping[str, Sequence[TextEdit]],
) -> bool:
    """Scan the edited tree and send every site on whose edit did not do; return whether there was one."""
    contents = _contents(engine, edits)
    for path, content in contents.items():
        if unreadable_parts(content) > unreadable_parts(engine.sources.files[path].source):
            unread = [key for key in chosen if key[0] == path]
            for key in unread:
                search.next(key, "the parser cannot read the edited kernel")
            return True
    after = analyse(tree, contents)
    bad = {key for key in chosen if not _cured(engine.sites[key], after.sites.get(_place(key, edits)))}
    for key in sorted(bad):
        search.next(key, _UNCURED)
    for site in _worse(engine, after, chosen, edits):
        for key in _blamed(engine, site, chosen):
            if key not in bad:
                bad.add(key)
                search.next(key, f"its edit would make `{site.text}` in {site.function} worse")
    return bool(bad)


def _cured(before: Site, now: Site | None) -> bool:
    """Whether a site has no effect left, and is followed on every path that it was followed on."""
    if now is None or not now.verdicts or effects_of(now):
        return False
    return (not now.unknown or bool(before.unknown)) and now.verdicts.keys() >= before.verdicts.keys()


def _worse(
    engine: Engine, after: Engine, chosen: Mapping[SiteKey, Edits], edits: Mapping[str, Sequence[TextEdit]]
) -> list[Site]:
    """Sites that no edit was for and that have an effect, or cannot be decided, only after the edits."""
    known = set()
    out = []
    for key, site in engine.sites.items():
        place = _place(key, edits)
        known.add(place)
        if key in chosen:
            continue
        now = after.sites.get(place)
        if now is None:
            if site.verdicts:
                out.append(site)
        elif not effects_of(now) <= effects_of(site) or (now.unknown and not site.unknown):
            out.append(site)
    return out + [site for key, site in after.sites.items() if key not in known and (effects_of(site) or site.unknown)]


def _blamed(engine: Engine, site: Site, chosen: Mapping[SiteKey, Edits]) -> list[SiteKey]:
    """The edits that may be to blame for a site: those of its function, else of its file, else all."""
    same = [key for key in chosen if key[0] == site.file and engine.sites[key].function == site.function]
    return same or [key for key in chosen if key[0] == site.file] or list(chosen)


def unreadable_parts(source: bytes) -> int:
    """Count what the parser cannot read in a file."""
    from patchkit.scan.mask import mask
    from patchkit.scan.sources import parser

    count = 0
    stack = [parser().parse(mask(source).text).root_node]
    while stack:
        node = stack.pop()
        count += node.is_error or node.is_missing
        if node.has_error:
            stack.extend(node.children)
    return count
