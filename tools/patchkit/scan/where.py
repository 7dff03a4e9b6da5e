"""Where an operator lives: schema, structured delegate, meta function, and for each backend of the dispatch table the
kernel, the stub and helpers behind it, and the results that its graph writes.

How a call finds its kernel is told by ``torchgen/model.py`` and ``torchgen/dest/register_dispatch_key.py``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.errors import UsageError
from patchkit.scan.registry.native_sources import OTHER_BACKENDS
from patchkit.scan.scope.select import op_of
from patchkit.source.tree import NATIVE_FUNCTIONS, Tree

if TYPE_CHECKING:
    from patchkit.scan.engine import Engine, Entry, Site
    from patchkit.scan.registry import Overload, OverloadUse, Registry, StubUse
    from patchkit.scan.syntax import Function

BACKEND = "MPS"
_CODE = (".cpp", ".cu", ".h", ".cuh", ".mm")
_WORST_FIRST = ("lost", "unwritten", "dropped", "garbage", "misplaced", "restrided")


@dataclass(frozen=True)
class Step:
    """One place on the way from an operator to the memory it writes.

    Args:
        kind: ``schema``, ``delegate``, ``meta``, ``dispatch``, ``kernel``, ``stub``, ``helper`` or ``result``.
        text: what stands there: the schema, a function's name, the tensor a Placeholder takes.
        file: relative to the tree; empty where the tree does not hold the place.
        line: 1-based; 0 with an empty ``file``.
        verdict: of a result: an effect, or ``ok`` with the reason.
        steps: what follows.
    """

    kind: str
    text: str
    file: str = ""
    line: int = 0
    verdict: str = ""
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Where:
    """The way of one overload; ``steps`` holds delegate and meta function, and one dispatch step a backend."""

    overload: str
    python: str
    schema: Step
    steps: tuple[Step, ...]


def find_operator(tree: Tree, name: str) -> tuple[Where, ...]:
    """Follow every overload that ``name`` means.

    Args:
        tree: the tree; it is only read.
        name: an overload (``addcmul_``, ``add.out``); else the operator, with all its overloads (``add``).

    Raises:
        UsageError: the tree has no such operator; the message names the nearest.
        InputError: ``native_functions.yaml`` is missing or unreadable.
    """
    from patchkit.scan.engine import Engine
    from patchkit.scan.registry import load_registry
    from patchkit.scan.sources import load_sources

    registry = load_registry(tree.root)
    wanted = _meant(registry, name, tree)
    engine = Engine(load_sources(tree.root), registry)
    finder = _Finder(tree, engine)
    return tuple(finder.where(overload) for overload in wanted)


def _meant(registry: Registry, name: str, tree: Tree) -> list[str]:
    plain = name.strip().removeprefix("aten::").removeprefix("torch.ops.aten.")
    if plain in registry.overloads:
        return [plain]
    same = [one for one in registry.overloads if one.partition(".")[0] == plain]
    if same:
        return same
    near = difflib.get_close_matches(plain, list(registry.overloads), 1)
    near = near or difflib.get_close_matches(op_of(plain), {op_of(one) for one in registry.overloads}, 1)
    hint = f"; did you mean {near[0]}?" if near else "."
    raise UsageError(f"there is no operator {name} in torch {tree.version}{hint}")


class _Finder:
    """Runs the kernels that are asked about, each once."""

    def __init__(self, tree: Tree, engine: Engine) -> None:
        self.root = tree.root
        self.engine = engine
        self.registry = engine.registry
        self._yaml = _lines(tree.root / NATIVE_FUNCTIONS)
        self._ran: set[str] = set()

    def where(self, name: str) -> Where:
        overload = self.registry.overloads[name]
        schema = Step("schema", self._schema(overload), NATIVE_FUNCTIONS, overload.line)
        steps: list[Step] = []
        table = overload
        if overload.structured_delegate:
            table = self.registry.overloads[overload.structured_delegate]
            steps.append(Step("delegate", table.name, NATIVE_FUNCTIONS, table.line))
        steps += self._meta(name)
        keys = _grouped(table)
        use = self._use(name)
        if use is not None and not any(use[1].key in listed for listed, _ in keys):
            keys.append(([use[1].key], use[0]))  # composite without a table, or registered past it
        steps += [self._backend(overload, table, listed, kernel, use) for listed, kernel in keys]
        return Where(name, overload.python, schema, tuple(steps))

    def _schema(self, overload: Overload) -> str:
        line = self._yaml[overload.line - 1] if 0 < overload.line <= len(self._yaml) else ""
        return line.strip().removeprefix("-").strip().removeprefix("func:").strip() or overload.name

    def _meta(self, name: str) -> Iterator[Step]:
        """The meta function, and the calls in it or below it that set the outputs, one line a function."""
        calls: dict[tuple[str, str], int] = {}
        for output in self.registry.meta(name):
            for site in output.sites:
                calls[site.function, site.file] = min(site.line, calls.get((site.function, site.file), site.line))
        below = tuple(Step("helper", function, file, line) for (function, file), line in calls.items())
        functional = op_of(name)
        place = self._meta_function(functional) if below else None
        if place is not None:
            yield Step("meta", functional, *place, "", below)
        else:
            yield from (Step("meta", one.text, one.file, one.line) for one in below)

    def _meta_function(self, op: str) -> tuple[str, int] | None:
        pattern = re.compile(rb"\bTORCH_META_FUNC2?\s*\(\s*" + re.escape(op.encode()) + rb"\s*[,)]")
        for file, data in self._native():
            match = pattern.search(data)
            if match is not None:
                return file, data.count(b"\n", 0, match.start()) + 1
        return None

    def _use(self, name: str) -> tuple[str, OverloadUse] | None:
        """The kernel that MPS tensors reach, and how the overload fills it."""
        for kernel, reached in self.registry.kernels.items():
            for one in reached.uses:
                if one.overload.name == name:
                    return kernel, one
        return None

    def _backend(
        self, overload: Overload, table: Overload, keys: list[str], kernel: str, use: tuple[str, OverloadUse] | None
    ) -> Step:
        short = kernel.rpartition("::")[2]
        line = self._dispatch_line(table, short)
        place = (NATIVE_FUNCTIONS, line) if line else ("", 0)
        reached = use is not None and use[1].key in keys
        found = self._mps(overload.name, short, keys) if reached else ()
        if not found:
            found = tuple(Step("kernel", short, file, number) for file, number in self._definitions(short, keys))
        return Step("dispatch", f"{', '.join(keys)}: {short}", *place, "", found or (Step("kernel", short),))

    def _dispatch_line(self, table: Overload, kernel: str) -> int:
        """The line of the table's entry that names the kernel, 0 where it is named elsewhere."""
        for number in range(table.line, len(self._yaml)):
            text = self._yaml[number]
            if text.startswith("- func:"):
                break
            if re.search(rf":\s*(?:\w+::)*{re.escape(kernel)}\s*(?:#.*)?$", text):
                return number + 1
        return 0

    # -- kernels that MPS tensors reach ---------------------------------------------------------------

    def _mps(self, name: str, kernel: str, keys: list[str]) -> tuple[Step, ...]:
        direct = [one for one in self._entries(name) if one.kind != "stub"]
        if direct:
            return tuple(self._kernel("kernel", one, name) for one in direct)
        stubs = self._stubs(name)
        steps = []
        for file, number in self._definitions(kernel, keys):
            steps.append(Step("kernel", kernel, file, number, "", tuple(stubs)))
        return tuple(steps) or tuple(stubs)

    def _stubs(self, name: str) -> list[Step]:
        out: list[Step] = []
        for one in self._entries(name):
            if one.kind != "stub":
                continue
            stub = self._stub_of(one, name)
            inner = (self._kernel("kernel", one, name),)
            if stub is None:
                out += inner
                continue
            registered = Step("stub", f"registered for {BACKEND}", stub.file, stub.line, "", inner)
            call = next((call for call in stub.calls if name in call.overloads), None)
            place = (call.file, call.line) if call else ("", 0)
            out.append(Step("stub", stub.name, *place, "", (registered,)))
        return out

    def _stub_of(self, entry: Entry, name: str) -> StubUse | None:
        for stub in self.registry.stubs.values():
            if stub.kernel == entry.function.name and entry.overload == f"{name} through {stub.name}":
                return stub
        return None

    def _entries(self, name: str) -> list[Entry]:
        """The ways into the MPS sources that serve an overload, each run; through stubs only if there is no other."""
        found = [one for one in self._all_entries() if one.use is not None and one.use.overload.name == name]
        found = found or [one for one in self._stub_entries() if name in one.names]
        for one in found:
            if one.overload not in self._ran:
                self._ran.add(one.overload)
                self.engine.enter(one)
        return found

    @cache  # noqa: B019 (the finder lives as long as one command)
    def _all_entries(self) -> tuple[Entry, ...]:
        return tuple(self.engine._dispatched())

    @cache  # noqa: B019
    def _stub_entries(self) -> tuple[Entry, ...]:
        return tuple(self.engine._stubs())

    def _kernel(self, kind: str, entry: Entry, name: str) -> Step:
        function = entry.function
        groups: dict[str, list[Site]] = {}
        sites = [*self.engine.sites.values(), *self.engine.writes.values()]
        for site in sorted(sites, key=lambda one: (one.file, one.start)):
            if entry.overload in site.verdicts or (site.unknown and site.function == function.name):
                groups.setdefault(site.function, []).append(site)
        steps: list[Step] = []
        for holder, held in groups.items():
            results = tuple(self._result(site, entry) for site in held)
            steps += _nested([self._place("helper", one) for one in self._chain(function, holder, held[0])], results)
        if function.name in self.engine.gave_up:
            steps.append(Step("result", self.engine.gave_up[function.name], verdict="undecided"))
        place = self._place(kind, function)
        return Step(kind, place.text, place.file, place.line, "", tuple(steps))

    def _result(self, site: Site, entry: Entry) -> Step:
        line, _ = self.engine.sources.position(site.file, site.start)
        verdicts = site.verdicts.get(entry.overload, set())
        effects = {verdict.effect for verdict in verdicts} - {"ok"}
        reasons = sorted({verdict.reason for verdict in verdicts if verdict.effect == "ok"} - {"unread", "raises"})
        if effects:
            verdict = next((one for one in _WORST_FIRST if one in effects), min(effects))
        elif site.unknown or not verdicts:
            verdict = f"undecided: {site.unknown or 'no path runs it'}"
        else:
            verdict = f"ok ({', '.join(reasons)})" if reasons else "ok"
        return Step("result", " ".join(site.text.split()), site.file, line, verdict)

    def _place(self, kind: str, function: Function) -> Step:
        line, _ = self.engine.sources.position(function.file, function.start)
        return Step(kind, function.name, function.file, line)

    def _chain(self, start: Function, holder: str, site: Site) -> list[Function]:
        """The shortest chain of calls from a kernel to the function that holds a result, without the kernel."""
        if holder == start.name:
            return []
        functions = self.engine.sources.functions
        waiting: list[tuple[Function, list[Function]]] = [(start, [])]
        seen = {id(start)}
        while waiting:
            function, chain = waiting.pop(0)
            for name in _called(function.text):
                for callee in functions.get(name, ()):
                    if id(callee) in seen:
                        continue
                    seen.add(id(callee))
                    if callee.name == holder and callee.file == site.file:
                        return [*chain, callee]
                    waiting.append((callee, [*chain, callee]))
        return [one for one in functions.get(holder, ()) if one.file == site.file][:1]

    # -- kernels of other backends --------------------------------------------------------------------

    def _definitions(self, kernel: str, keys: list[str]) -> list[tuple[str, int]]:
        """Where the native files define a function of this name; none where the tree leaves the backend's files out."""
        wanted = kernel.encode()
        name = re.escape(wanted)
        pattern = re.compile(
            rb"^[ \t]*(?:TORCH_IMPL_FUNC\s*\(\s*" + name + rb"\s*\)"
            rb"|(?:[\w:<>,&*]+[ \t\n]+)+[&*]*(?:\w+::)*" + name + rb"\s*\([^;{}]*\)\s*(?:const\s*)?\{)",
            re.MULTILINE,
        )
        found = []
        for file, data in self._native():
            if wanted in data and _may_serve(file, keys):
                match = pattern.search(data)
                if match is not None:
                    at = data.index(wanted, match.start())
                    found.append((file, data.count(b"\n", 0, at) + 1))
        if not found:  # a macro may define it
            made = self.registry.sources.defining(kernel, "")
            found = [(one.file, one.line) for one in made if _may_serve(one.file, keys)]
        return found

    @cache  # noqa: B019
    def _native(self) -> tuple[tuple[str, bytes], ...]:
        folder = self.root / "aten/src/ATen/native"
        out = []
        for path in sorted(folder.rglob("*")):
            if path.suffix in _CODE and path.is_file():
                try:
                    out.append((path.relative_to(self.root).as_posix(), path.read_bytes()))
                except OSError:
                    continue
        return tuple(out)


def _grouped(table: Overload) -> list[tuple[list[str], str]]:
    """The dispatch table with the keys of one kernel together; the key of MPS tensors stands alone."""
    out: list[tuple[list[str], str]] = []
    for key, kernel in table.dispatch.items():
        same = next((keys for keys, other in out if other == kernel and BACKEND not in (key, *keys)), None)
        if same is None:
            out.append(([key], kernel))
        else:
            same.append(key)
    return out


def _may_serve(file: str, keys: Sequence[str]) -> bool:
    """Whether a file can hold a kernel of these keys: one in a backend's folder only if a key names the backend."""
    named = " ".join(keys).lower()
    return all(folder in named for folder in file.split("/")[:-1] if folder in OTHER_BACKENDS)


def _nested(chain: Sequence[Step], results: tuple[Step, ...]) -> tuple[Step, ...]:
    inner = results
    for step in reversed(chain):
        inner = (Step(step.kind, step.text, step.file, step.line, "", inner),)
    return inner


def _called(text: bytes) -> list[str]:
    return list(
        dict.fromkeys(name.decode() for name in re.findall(rb"\b([A-Za-z_]\w*)\s*(?:<[^<>;(){}]*>\s*)?\(", text))
    )


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return []
