"""Runs every kernel of a tree through the machine and decides, for each graph result, what its caller gets.

A kernel is entered once for each overload that reaches it, with the layouts that this overload can bring about:
``out=`` and in-place any, a functional call those its meta function gives. What the paths say of one result is
gathered over all kernels that run it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from patchkit.scan import syntax as s
from patchkit.scan.handles import observe
from patchkit.scan.layout import ALL, CONTIGUOUS, Cell, Tensor
from patchkit.scan.machine import Event, Machine, Path, TooManyPaths
from patchkit.scan.metal import dispatches
from patchkit.scan.registry import OutputArgument, OutputLayout, OverloadUse, Registry
from patchkit.scan.registry.dispatch import triggers_of
from patchkit.scan.sources import Sources
from patchkit.scan.values import Dictionary, Iterator, Slot, Symbol
from patchkit.scan.walk import placeholders, signature

SiteKey = tuple[str, int]


@dataclass(frozen=True)
class Verdict:
    """What one path says of one graph result: an effect or ``ok``, the layouts it holds for, and why."""

    site: SiteKey
    effect: str
    atoms: frozenset[str]
    macos: frozenset[str]
    reason: str
    output: str
    role: str
    made_in: str
    run: int
    run_file: str


@dataclass
class Site:
    """A graph result: where the Placeholder takes the tensor, and what all runs said of it."""

    file: str
    start: int
    end: int
    function: str
    text: str
    verdicts: dict[str, set[Verdict]] = field(default_factory=dict)
    unknown: str = ""


@dataclass
class Entry:
    """One way into a kernel: the function, the overload that takes it, and the layouts of its outputs."""

    function: s.Function
    overload: str
    kind: str
    use: OverloadUse | None
    outputs: tuple[OutputLayout, ...]
    names: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """How a trace names the way in."""
        return self.overload


@dataclass
class Engine:
    """The state of one scan."""

    sources: Sources
    registry: Registry
    machine: Machine = field(init=False)
    sites: dict[SiteKey, Site] = field(default_factory=dict)
    writes: dict[SiteKey, Site] = field(default_factory=dict)
    handles: dict[tuple[str, str, int, str], Site] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    built: set[SiteKey] = field(default_factory=set)
    gave_up: dict[str, str] = field(default_factory=dict)
    ways: dict[str, Entry] = field(default_factory=dict)
    paths: int = 0
    _done: dict[object, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.machine = Machine(self.sources)

    def run(self) -> None:
        """Run every kernel that an MPS tensor reaches, then what no kernel ran."""
        for entry in self.entries():
            self.enter(entry)
        for entry in self.leftovers():
            self.enter(entry)

    def leftovers(self) -> Iterable[Entry]:
        """Functions with a Placeholder that no kernel built: entered with their own parameters as the caller's."""
        for functions in list(self.sources.functions.values()):
            for function in functions:
                if b"Placeholder" not in function.text or function.scope:
                    continue
                try:
                    kept = placeholders(function, self.machine.sliced(function))  # only those of results
                except RecursionError:
                    self.gave_up[function.name] = "the kernel is nested too deeply to follow"
                    continue
                places = {(function.file, self.sources.place(function, p.start)) for p in kept}
                if not places <= self.built:
                    yield Entry(function, f"{function.name} itself", "leftover", None, ())

    def entries(self) -> Iterable[Entry]:
        """Every way into the MPS sources: dispatch tables, functional calls first, then stubs."""
        direct = list(self._dispatched())
        yield from (e for e in direct if e.kind == "functional")
        yield from (e for e in direct if e.kind != "functional")
        yield from self._stubs()

    def _stubs(self) -> Iterable[Entry]:
        """Kernels behind a dispatch stub, with the outputs that each caller of the stub hands over."""
        for stub in self.registry.stubs.values():
            function = next((f for f in self.sources.functions.get(stub.kernel, ()) if not f.scope), None)
            if function is None:
                continue
            outputs: dict[str, list[OutputLayout]] = {}
            for call in stub.calls:
                for place, origins in enumerate(call.origins[: len(function.parameters)]):
                    for origin in origins:
                        if origin.owner not in ("caller", "fresh"):
                            continue
                        name = function.parameters[place].name
                        argument = OutputArgument(0, name, place, origin.owner)
                        layout = OutputLayout(argument, origin.proxied, origin.layouts, False)
                        outputs.setdefault(origin.overload, []).append(layout)
            for overload, layouts in outputs.items():
                known = self.registry.overloads.get(overload)
                if known is None:
                    continue
                label = f"{overload} through {stub.name}"
                yield Entry(function, label, "stub", None, tuple(layouts), (overload,), triggers_of(known))

    def _dispatched(self) -> Iterable[Entry]:
        for name in self.registry.kernels:
            short = name.rpartition("::")[2]
            candidates = self.sources.functions.get(short)
            if not candidates:
                continue
            use = self.registry.kernels[name]
            for one in use.uses:
                function = _fitting(candidates, one, one.structured)
                if function is not None:
                    kind = one.overload.kind
                    yield Entry(function, one.overload.name, kind, one, self.registry.outputs(one))

    def enter(self, entry: Entry) -> None:
        """Run one kernel for one overload and gather what its paths say."""
        self.ways[entry.overload] = entry
        try:
            signature = self._signature(entry)
        except RecursionError:
            self.gave_up[entry.function.name] = "the kernel is nested too deeply to follow"
            return
        twin = self._done.get(signature)
        if twin is not None:  # the same statements, the same layouts: the same verdicts under another name
            for site in (*self.sites.values(), *self.writes.values(), *self.handles.values()):
                if twin in site.verdicts:
                    site.verdicts[entry.overload] = site.verdicts[twin]
            return
        self._done[signature] = entry.overload
        try:
            paths = self.machine.paths(lambda: self._setup(entry))
        except TooManyPaths:
            self.gave_up[entry.function.name] = "the kernel has too many paths to follow"
            return
        except RecursionError:
            self.gave_up[entry.function.name] = "the kernel is nested too deeply to follow"
            return
        except Exception as error:  # one odd kernel must not hide the others; it is reported as undecided
            if os.environ.get("PATCHKIT_TRACEBACK"):
                raise
            self.gave_up[entry.function.name] = f"the scanner failed on this kernel ({type(error).__name__})"
            return
        self.paths += len(paths)
        for path in paths:
            self._judge(entry, path)

    def _signature(self, entry: Entry) -> object:
        """What decides an entry's verdicts: its statements without names of its own, and its tensors' layouts."""
        function = entry.function
        own = b"Placeholder" in function.text or dispatches(function.text)
        if entry.kind == "leftover" or function.has_error or own:
            return entry.overload  # a result of its own belongs to it alone
        roles = []
        layouts = {o.argument.position: o for o in entry.outputs if o.argument.position is not None}
        for place, parameter in enumerate(function.parameters):
            layout = layouts.get(place)
            role = entry.use.parameters[place].role if entry.use and place < len(entry.use.parameters) else ""
            atoms = _atoms(layout, entry.kind) if layout is not None else None
            roles.append((parameter.type, role, atoms, layout.argument.owner if layout is not None else ""))
        body = signature(function, self.machine.sliced(function), self.machine.compared)
        return function.file, entry.kind == "inplace", tuple(roles), body

    def _setup(self, entry: Entry) -> Path:
        machine = self.machine
        path = machine.path
        arguments: list[Any] = []
        layouts = {o.argument.position: o for o in entry.outputs if o.argument.position is not None}
        self_tensor: Tensor | None = None
        for place, parameter in enumerate(entry.function.parameters):
            role = entry.use.parameters[place].role if entry.use and place < len(entry.use.parameters) else "input"
            layout = layouts.get(place)
            kind = parameter.type
            slot = Slot(Symbol(("parameter", parameter.name)), "caller")
            if layout is not None and _is_tensor(kind):
                if entry.kind == "inplace" and self_tensor is not None and layout.argument.index == 0:
                    tensor = self_tensor
                    tensor.cell.atoms = self._possible(entry, place, layout)
                else:
                    tensor = machine.tensor(
                        parameter.name,
                        "output",
                        self._possible(entry, place, layout),
                        "stale",
                        is_view=_viewed(layout),
                    )
                tensor.role = "output"
                tensor.made_in = "wrapper" if layout.argument.owner == "fresh" else ""
                path.outputs.append(tensor)
                slot.value = tensor
            elif entry.kind == "leftover" and _is_tensor(kind):
                tensor = machine.tensor(parameter.name, "output", ALL, "stale")
                path.outputs.append(tensor)
                slot.value = tensor
            elif _is_list(kind):
                slot.value = Dictionary([machine.tensor(f"{parameter.name}[i]", "input")])
            elif _is_tensor(kind):
                optional = "optional" in kind or "OptionalTensorRef" in kind
                tensor = machine.tensor(parameter.name, "input", defined=None if optional else True)
                if self_tensor is None and role != "output":
                    self_tensor = tensor
                slot.value = tensor
            elif "TensorIterator" in kind:
                atoms = _atoms(layout, entry.kind) if layout is not None else ALL
                viewed = _viewed(layout) if layout is not None else None
                output = machine.tensor("iter.output()", "output", atoms, "stale", is_view=viewed)
                output.made_in = "wrapper" if layout is not None and layout.argument.owner == "fresh" else ""
                path.outputs.append(output)
                slot.value = Iterator([output], [machine.tensor(f"iter.input({i})", "input") for i in range(3)])
            arguments.append(slot)
        if entry.kind == "functional":
            _follow_input(path.outputs, layouts.values(), arguments)
        if entry.kind == "inplace" and self_tensor is not None and entry.use is not None and layouts:
            self_tensor.storage.content = "stale"
        path.returned = machine.call(entry.function, arguments)
        return path

    def _possible(self, entry: Entry, place: int, layout: OutputLayout) -> frozenset[str]:
        """The layouts an output can have; a parameter that functional callers fill with 1-D tensors is never 4-D."""
        atoms = _atoms(layout, entry.kind)
        ranks = self.machine.ranks.get((entry.function, place))
        if ranks and not ranks & {None, 4, 5}:
            atoms -= frozenset("L")
        return atoms or frozenset("C")

    # -- judging a path ----------------------------------------------------------------------------

    def _judge(self, entry: Entry, path: Path) -> None:
        for placeholder in path.built:
            self.built.add((placeholder.file, placeholder.start))
        returned = _flatten(path.returned)
        self._gather(entry, path, path.events, self.sites, returned)
        if entry.kind != "leftover":
            observe(self, entry, path)
            self._gather(entry, path, path.writes, self.writes, returned)

    def _gather(
        self, entry: Entry, path: Path, events: list[Event], sites: dict[SiteKey, Site], returned: list[Tensor]
    ) -> None:
        for event in events:
            placeholder = event.placeholder
            key = (placeholder.file, placeholder.start)
            if not placeholder.file:
                continue  # Placeholder() that was never given a tensor
            site = sites.get(key)
            if entry.kind == "leftover" and site is not None and site.verdicts.keys() - {entry.overload}:
                continue
            if site is None:
                site = sites[key] = Site(
                    placeholder.file,
                    placeholder.start,
                    placeholder.end,
                    placeholder.function,
                    placeholder.text,
                )
            verdict = self._verdict(entry, path, event, returned)
            if verdict is None:
                site.unknown = site.unknown or placeholder.unknown or "the memory behind this result is not followed"
            else:
                site.verdicts.setdefault(entry.overload, set()).add(verdict)

    def _verdict(self, entry: Entry, path: Path, event: Event, returned: list[Tensor]) -> Verdict | None:
        placeholder = event.placeholder
        tensor, binding = placeholder.tensor, placeholder.binding
        if tensor is None or binding is None or binding.kind == "unknown":
            return None
        key = (placeholder.file, placeholder.start)
        base = tensor.base
        callers = base.role in ("output", "input")
        atoms = base.cell.possible() if callers else tensor.cell.possible()

        def say(effect: str, reason: str, of: Tensor | None = None) -> Verdict:
            about = of or base
            return Verdict(
                key,
                effect,
                about.cell.possible() if of else atoms,
                path.macos,
                reason,
                about.name,
                base.role,
                tensor.made_in,
                event.position,
                event.file,
            )

        overwritten = tensor.storage.written_at > event.order
        if binding.kind == "temporary":
            if overwritten and tensor.storage.content in ("data", "result"):
                return say("ok", "overwritten")
            if callers or _escapes(tensor, path, returned, event):
                return say("lost", "gathered")
            return say("ok", "unread")
        if binding.kind == "dense":
            if overwritten and tensor.storage.content in ("data", "result"):
                return say("ok", "overwritten")
            if callers or _escapes(tensor, path, returned, event):
                return say("misplaced", "dense")
            return say("ok", "unread")
        if binding.kind == "raises":
            return say("ok", "raises")
        for changed, before, _, _ in path.restrided:
            if changed is base and base.made_in == "":
                return replace(say("restrided", "restrided"), atoms=before)
        if callers:
            return say("ok", "direct" if atoms <= frozenset("C") else "strided")
        reached = [o for o in path.outputs if key in o.storage.sites]
        if reached:
            return say("ok", "copy_back", reached[0].base)
        if any(t.storage is tensor.storage for t in returned):
            return say("ok", "fresh")
        if base.used_at > event.order:
            return say("ok", "fresh")
        waiting = [o for o in path.outputs if o.storage.content in ("stale", "raw") and o.defined is not False]
        if not waiting and not _anything_arrives(path, returned):
            waiting = [o for o in path.outputs if o.defined is not False]
        if not waiting:
            return say("ok", "unread")
        wanted = _stands_for(tensor, waiting)
        dropped = any(t is wanted.base for t, *_ in path.rebound)
        return say("dropped" if dropped else "lost", "not copied back", wanted)


def _follow_input(outputs: list[Tensor], layouts: Iterable[OutputLayout], arguments: list[Any]) -> None:
    """Tie a fresh output to the layout of the only input: what a guard learns of the one it knows of the other."""
    inputs = [a.value for a in arguments if isinstance(a.value, Tensor) and a.value.role == "input"]
    if len(inputs) == 1 and len(outputs) == 1 and all("preserved" in layout.layouts for layout in layouts):
        outputs[0].cell = Cell(frozenset("C"), follows=inputs[0].cell)


def _anything_arrives(path: Path, returned: list[Tensor]) -> bool:
    """Whether some result of the path's graphs is read, returned or written to one of the caller's tensors."""
    for event in path.events:
        tensor = event.placeholder.tensor
        if tensor is None:
            return True
        key = (event.placeholder.file, event.placeholder.start)
        if tensor.base.role != "fresh" or tensor.base.used_at > event.order:
            return True
        if any(key in o.storage.sites for o in path.outputs) or any(t.storage is tensor.storage for t in returned):
            return True
    return False


def _escapes(tensor: Tensor, path: Path, returned: list[Tensor], event: Event) -> bool:
    if any(t.storage is tensor.storage for t in returned):
        return True
    return tensor.base.used_at > event.order or any(s.storage is tensor.storage for _, s, _, _ in path.copies)


def _stands_for(tensor: Tensor, waiting: list[Tensor]) -> Tensor:
    source: Tensor | None = tensor
    while source is not None:
        for output in waiting:
            if source.base is output.base:
                return output
        source = source.source
    return waiting[0]


def _flatten(value: Any) -> list[Tensor]:
    if isinstance(value, Slot):
        return _flatten(value.value)
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Dictionary):
        return [t for item in value.items for t in _flatten(item)]
    return []


def _is_tensor(kind: str) -> bool:
    return "Tensor" in kind and "TensorIterator" not in kind and "TensorOptions" not in kind and not _is_list(kind)


def _is_list(kind: str) -> bool:
    return any(w in kind for w in ("TensorList", "ArrayRef<Tensor>", "ITensorListRef", "vector<Tensor>", "List<"))


def _viewed(layout: OutputLayout) -> bool | None:
    return False if layout.argument.owner == "fresh" else None


def _atoms(layout: OutputLayout, kind: str) -> frozenset[str]:
    """The layouts an overload can hand to its kernel."""
    atoms = ALL
    if layout.argument.owner == "fresh":
        atoms = frozenset("C")
        if "preserved" in layout.layouts:
            atoms |= frozenset("TL")
        if "channels_last" in layout.layouts:
            atoms |= frozenset("L")
        if layout.layouts & {"explicit", "unknown"}:
            atoms |= frozenset("T")
    elif layout.proxied:
        atoms = frozenset("TG") if "explicit" in layout.layouts else CONTIGUOUS
    if layout.scalar or layout.ranks == frozenset((0,)):
        atoms &= CONTIGUOUS
    elif layout.ranks and not layout.ranks & {4, 5}:
        atoms -= frozenset("L")  # channels_last is for four and five dimensions only
    return atoms or frozenset("C")


def _fitting(candidates: list[s.Function], use: OverloadUse, structured: bool) -> s.Function | None:
    """The C++ function that a dispatch entry means among those of its name."""
    fitting = [
        f for f in candidates if f.structured == structured and len(f.parameters) == len(use.parameters) and not f.scope
    ]
    if len(fitting) > 1:
        scored = sorted(fitting, key=lambda f: -_similar(f, use))
        return scored[0]
    if fitting:
        return fitting[0]
    loose = [f for f in candidates if f.structured == structured and not f.scope]
    return loose[0] if len(loose) == 1 else None


def _similar(function: s.Function, use: OverloadUse) -> int:
    score = 0
    for parameter, wanted in zip(function.parameters, use.parameters, strict=False):
        is_tensor = _is_tensor(parameter.type) or _is_list(parameter.type)
        score += is_tensor == wanted.type.startswith("Tensor")
        score += 2 * (("Scalar" in parameter.type) == (wanted.type.startswith("Scalar")))
    return score
