"""Where a graph result stands in its kernel: the statements around its Placeholder and around the runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from patchkit.scan import syntax as s
from patchkit.scan.engine import Engine, Site
from patchkit.scan.walk import walk

NO_PLACEHOLDER = "no Placeholder takes this tensor: the kernel writes it in a way no template covers"


class RefusedError(Exception):
    """No template covers this site; the message says why, for the user."""


@dataclass(frozen=True)
class Step:
    """One statement on the way from a function's body to a place in it.

    Args:
        statements: the list the statement is in.
        index: its place there.
        conditional: whether that list may not run, or run more than once, when its function does.
        inside: what the list belongs to: a branch, a loop, a block, a lambda; None for the body.
    """

    statements: list[s.Stmt]
    index: int
    conditional: bool
    inside: Any

    @property
    def statement(self) -> s.Stmt:
        """The statement itself."""
        return self.statements[self.index]


@dataclass(frozen=True)
class Construction:
    """A Placeholder made with a tensor: its arguments, what it is called, and how its class is qualified."""

    arguments: list[s.Expr]
    variable: str
    scope: str
    start: int


@dataclass(frozen=True)
class Kernel:
    """A graph result in its function.

    Args:
        source: the bytes of the file.
        placeholder: the construction of the site.
        steps: from the function's body to the statement of the Placeholder.
        runs: the same for each run that receives the result.
        tokens: identifiers that a new name must not be.
    """

    site: Site
    function: s.Function
    source: bytes
    placeholder: Construction
    steps: tuple[Step, ...]
    runs: tuple[tuple[Step, ...], ...]
    tokens: frozenset[str] = field(repr=False)

    def text(self, node: s.Expr | s.Stmt) -> str:
        """The source of a node, on one line."""
        return " ".join(self.source[node.start : node.end].decode("utf-8", "replace").split())

    @property
    def tensor(self) -> s.Expr:
        """The expression handed to the Placeholder."""
        return self.placeholder.arguments[1]


def kernel_of(engine: Engine, site: Site) -> Kernel:
    """Return the kernel of a site.

    Raises:
        RefusedError: a macro writes the kernel, or its structure is one that no template covers.
    """
    from patchkit.fix.edits.text import identifiers

    function = _function(engine, site)
    source = engine.sources.files[site.file].source
    if function.expanded:
        raise RefusedError(f"a macro writes {site.function}; a patch would have to change every kernel it writes")
    if function.has_error:
        raise RefusedError("the parser cannot read a part of this function")
    steps = steps_to(function.body, site.start)
    placeholder = next((c for c in constructions(function.body) if c.arguments[1].start == site.start), None)
    if placeholder is None:
        raise RefusedError(NO_PLACEHOLDER)
    if not steps:
        raise RefusedError("the Placeholder stands where no statement can be put before it")
    runs = sorted({(v.run_file, v.run) for vs in site.verdicts.values() for v in vs if v.run >= 0 and v.effect != "ok"})
    if not runs:
        raise RefusedError("where the graph runs is not known")
    if any(file != site.file or not function.start <= run < function.end for file, run in runs):
        raise RefusedError("the graph runs in another function than the one that makes the Placeholder")
    found = tuple(steps_to(function.body, run) for _, run in runs)
    if not all(found):
        raise RefusedError("the graph runs where no statement can be put after it")
    tokens = identifiers(source[function.start : function.end]) | macros(engine)
    return Kernel(site, function, source, placeholder, steps, found, tokens)


def macros(engine: Engine) -> frozenset[str]:
    """Return the names of all macros the MPS sources define."""
    cached = engine.__dict__.get("_fix_macros")
    if cached is None:
        names: set[str] = set()
        for file in engine.sources.files.values():
            names.update(m.decode() for m in re.findall(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", file.source, re.MULTILINE))
        cached = engine.__dict__["_fix_macros"] = frozenset(names)
    return frozenset(cached)


def _function(engine: Engine, site: Site) -> s.Function:
    for function in engine.sources.functions.get(site.function, []):
        if function.file == site.file and function.start <= site.start < function.end:
            return function
    raise RefusedError("the function around the Placeholder is not known")


def steps_to(statements: list[s.Stmt], offset: int) -> tuple[Step, ...]:
    """Return the statements that contain ``offset``, outermost first."""
    out: list[Step] = []
    lists: list[tuple[list[s.Stmt], bool, Any]] = [(statements, False, None)]
    while lists:
        entered = None
        for current, conditional, inside in lists:
            for index, statement in enumerate(current):
                if statement.start <= offset < statement.end:
                    entered = Step(current, index, conditional, inside)
                    break
            if entered is not None:
                break
        if entered is None:
            return tuple(out)
        out.append(entered)
        lists = list(_bodies(entered.statement))
    return tuple(out)


def _bodies(statement: s.Stmt) -> Iterator[tuple[list[s.Stmt], bool, Any]]:
    if isinstance(statement, s.Block):
        yield statement.body, False, statement
    elif isinstance(statement, s.If):
        yield statement.then, True, statement
        yield statement.other, True, statement
    elif isinstance(statement, s.Loop):
        yield statement.body, True, statement
    elif isinstance(statement, s.Switch):
        for _, body in statement.cases:
            yield body, True, statement
    else:
        for node in walk(statement):
            if isinstance(node, s.Lambda):
                yield node.body, True, node


def constructions(body: list[s.Stmt]) -> Iterator[Construction]:
    """Yield every Placeholder that is made with a tensor, with the variable it goes to."""
    named: set[int] = set()
    for node in walk(body):
        if isinstance(node, s.Declare):
            made = _made(node.value, node)
            if node.type.endswith("Placeholder") and node.arguments is not None:
                scope = node.type.removeprefix("const ").rpartition("::")[0]
                made = Construction(node.arguments, node.name, scope, node.start)
            if made is not None and len(made.arguments) >= 2:
                named.add(made.arguments[1].start)
                yield Construction(made.arguments, node.name, made.scope, node.start)
        elif isinstance(node, s.Assign) and isinstance(node.target, s.Name):
            made = _made(node.value, node)
            if made is not None and len(made.arguments) >= 2:
                named.add(made.arguments[1].start)
                yield Construction(made.arguments, node.target.name, made.scope, node.start)
    for node in walk(body):
        made = _made(node, node) if isinstance(node, s.Expr) else None
        if made is not None and len(made.arguments) >= 2 and made.arguments[1].start not in named:
            yield made


def _made(value: Any, owner: Any) -> Construction | None:
    if isinstance(value, s.Conditional):
        return _made(value.then, owner) or _made(value.other, owner)
    if isinstance(value, s.Call) and isinstance(value.callee, s.Name) and value.callee.name == "Placeholder":
        return Construction(value.arguments, "", value.callee.scope, owner.start)
    if isinstance(value, s.Collection) and value.type.endswith("Placeholder"):
        return Construction(value.items, "", value.type.rpartition("::")[0], owner.start)
    return None


def braced(source: bytes, statement: s.Stmt) -> bool:
    """Whether a statement stands in braces, so that another can be put beside it."""
    before = re.sub(rb"//[^\n]*|/\*.*?\*/", b"", source[: statement.start][-2000:], flags=re.DOTALL)
    last = re.sub(rb"^\s*#[^\n]*$", b"", before, flags=re.MULTILINE).rstrip()[-1:]
    return last in (b"{", b"}", b";")
