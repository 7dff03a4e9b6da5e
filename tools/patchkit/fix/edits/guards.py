"""The condition under which a tree's own Placeholder would not write a tensor: found by value, not by version.

The tree's constructor is run for every layout and macOS side, and so is its ``needsGather`` where it has one; the
shortest condition that is true wherever the constructor gathers, or writes without strides, is the guard.
``needsGather`` is in ``aten/src/ATen/native/mps/OperationUtils.h`` from 2.4 on, and false on macOS 15 from 2.5 on.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from patchkit.fix.edits.kernel import Construction, RefusedError
from patchkit.scan import syntax as s
from patchkit.scan.apple import _outcome, placeholder_constructor
from patchkit.scan.engine import Engine
from patchkit.scan.layout import ALL
from patchkit.scan.machine import Path

SIDES = ("<15", ">=15")
Case = tuple[str, str]


@dataclass(frozen=True)
class Guard:
    """A condition on one tensor, as text with ``{}`` for the tensor, and its opposite.

    Args:
        flag: how a variable that holds the condition is called.
    """

    flag: str
    needed: str
    plain: str

    def of(self, tensor: str, *, negated: bool = False) -> str:
        """The condition on a tensor, as C++."""
        return (self.plain if negated else self.needed).format(tensor)


_LAYOUT = Guard(
    "needs_copy", "!{0}.is_contiguous() || {0}.storage_offset()", "{0}.is_contiguous() && !{0}.storage_offset()"
)
_VIEW = Guard("needs_copy", "{0}.is_view() || !{0}.is_contiguous()", "!{0}.is_view() && {0}.is_contiguous()")


def guard_for(engine: Engine, placeholder: Construction) -> Guard:
    """Return the guard that a result of ``placeholder`` needs.

    Raises:
        RefusedError: the constructor is not there, or never copies, or no known condition covers it.
    """
    bad = unsafe(engine, placeholder)
    needs_gather = _needs_gather(engine)
    if needs_gather is not None and bad <= needs_gather:
        scope = f"{placeholder.scope}::" if placeholder.scope else ""
        return Guard("needs_gather", f"{scope}needsGather({{0}})", f"!{scope}needsGather({{0}})")
    if bad <= {(atom, side) for atom in "TGLO" for side in SIDES}:
        return _LAYOUT
    if bad <= {(atom, side) for atom in "TGLOV" for side in SIDES}:
        return _VIEW
    raise RefusedError("this release's Placeholder copies in cases that no known condition describes")


def unsafe(engine: Engine, placeholder: Construction) -> frozenset[Case]:
    """The layouts and macOS sides for which a result Placeholder does not write the tensor it is given.

    Raises:
        RefusedError: the tree has no constructor, or one that never gathers (torch 2.15 removed the gather path).
    """
    constructor = placeholder_constructor(engine.machine)
    if constructor is None:
        raise RefusedError("the tree's Placeholder constructor is not known")
    if not gathers(engine):
        raise RefusedError(
            "this release's Placeholder has no gather path any more, and upstream takes no copy-back for it"
        )
    bad = set()
    for gather, strided in product(*flag_values(constructor, placeholder.arguments)):
        for atom in sorted(ALL):
            outcomes = _outcome(engine.machine, atom, gather, strided).split("/")
            bad |= {(atom, side) for side, what in zip(SIDES, outcomes, strict=True) if what in ("temporary", "dense")}
    return frozenset(bad)


def gathers(engine: Engine) -> bool:
    """Whether the tree's Placeholder ever copies a tensor."""
    flags = product((True, False), repeat=2)
    return any("temporary" in _outcome(engine.machine, atom, g, st) for g, st in flags for atom in "TGLO")


def flag_values(constructor: s.Function, arguments: list[s.Expr]) -> list[tuple[bool, ...]]:
    """What ``gatherTensorData`` and ``useMPSStridedAPI`` can be in a call, both where that is not a literal."""
    out: list[tuple[bool, ...]] = []
    for argument in flag_arguments(constructor, arguments):
        if argument is None:
            out.append((True,))
        elif isinstance(argument, s.Literal) and isinstance(argument.value, bool):
            out.append((argument.value,))
        else:
            out.append((True, False))
    return out


def flag_arguments(constructor: s.Function, arguments: list[s.Expr]) -> list[s.Expr | None]:
    """The two flag arguments of a call, None where it leaves them to their defaults."""
    places = [i for i, p in enumerate(constructor.parameters) if p.type.replace("const ", "").strip() == "bool"]
    found: list[s.Expr | None] = [arguments[p] if p < len(arguments) else None for p in places[:2]]
    return found + [None] * (2 - len(found))


def _needs_gather(engine: Engine) -> frozenset[Case] | None:
    """Where the tree's ``needsGather`` answers true, or None where it has none."""
    known: Any = engine.__dict__.get("_fix_needs_gather", False)
    if known is False:
        function = next((f for f in engine.sources.functions.get("needsGather", []) if len(f.parameters) == 1), None)
        if function is None:
            known = None
        else:
            known = frozenset(case for case in product(ALL, SIDES) if _answers(engine, function, *case))
        engine.__dict__["_fix_needs_gather"] = known
    return known if known is None else frozenset(known)


def _answers(engine: Engine, function: s.Function, atom: str, side: str) -> bool:
    machine = engine.machine
    answers: list[bool] = []

    def run() -> Path:
        machine.path.macos = frozenset((side,))
        tensor = machine.tensor("t", "output", frozenset(atom), "stale", is_view=None)
        answers.append(machine.truth(machine.call(function, [tensor])))
        return machine.path

    machine.paths(run)
    return bool(answers) and all(answers)
