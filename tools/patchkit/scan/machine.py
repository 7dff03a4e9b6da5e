"""An abstract machine that runs a kernel path by path and watches where each graph result goes.

A kernel is run once for every combination of answers that matter: the layout of the caller's tensors, the macOS
version, optional arguments, unknown conditions. Each run takes one path; where a question has several answers the
machine follows a script and remembers the alternatives, and the next run takes the next one. At the end of a path
the storages tell whether the caller's tensor holds the result.

What the calls mean is in :mod:`patchkit.scan.aten` and :mod:`patchkit.scan.apple`; this module knows only C++.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from patchkit.scan import syntax as s
from patchkit.scan.layout import ALL, CONTIGUOUS, PRESERVED, Cell, Storage, Tensor
from patchkit.scan.slicing import Slicer, is_handle
from patchkit.scan.sources import Sources
from patchkit.scan.values import (
    UNKNOWN,
    Closure,
    Dictionary,
    Fields,
    Placeholder,
    Slot,
    Symbol,
    Test,
    Unknown,
)

#: Paths through one kernel before the machine gives up and says so.
MAX_PATHS = 1500
#: Calls deep.
MAX_DEPTH = 14
#: Statements on one path.
MAX_STEPS = 20_000


class PathEnd(Exception):  # noqa: N818
    """The path ends in an exception or a failed check: nothing is returned to the caller."""


class TooManyPaths(Exception):  # noqa: N818
    """The kernel has more paths than the machine follows."""


class _Return(Exception):  # noqa: N818
    def __init__(self, value: Any) -> None:
        self.value = value


class _Break(Exception):  # noqa: N818
    pass


class _Continue(Exception):  # noqa: N818
    pass


@dataclass
class Event:
    """One graph result of one run: the Placeholder (or data object) and the memory it was bound to."""

    placeholder: Placeholder
    order: int
    file: str = ""
    position: int = -1


@dataclass
class Path:
    """What happened on one path.

    Args:
        events: graph results, in order.
        outputs: the caller's tensors that should hold results, by name.
        returned: what the kernel returned.
        macos: which macOS sides the path can run on, of ``<15`` and ``>=15``.
        copies: ``copy_`` calls, as (target, source, file, offset).
        rebound: outputs whose handle was pointed at another tensor, as (tensor, file, offset, what that was made from).
        restrided: outputs whose strides were changed, as (tensor, its layouts before, file, offset).
        writes: what Metal and matrix kernels wrote, in order.
        bound: what is bound to the buffer indices of the next Metal dispatch.
    """

    events: list[Event] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    returned: Any = None
    macos: frozenset[str] = frozenset(("<15", ">=15"))
    copies: list[tuple[Tensor, Tensor, str, int]] = field(default_factory=list)
    rebound: list[tuple[Tensor, str, int, Tensor | None]] = field(default_factory=list)
    restrided: list[tuple[Tensor, frozenset[str], str, int]] = field(default_factory=list)
    built: list[Placeholder] = field(default_factory=list)
    writes: list[Event] = field(default_factory=list)
    bound: dict[int, Any] = field(default_factory=dict)


@dataclass
class Frame:
    """One active function."""

    function: s.Function
    scopes: list[dict[str, Slot]]
    this: Fields | None = None


class Machine:
    """Runs functions of one tree; one instance serves all runs of a scan.

    Args:
        sources: the parsed tree.
        known: a machine of the same tree whose slices this one shares.
    """

    def __init__(self, sources: Sources, known: Machine | None = None) -> None:
        self.sources = sources
        self.ranks: dict[tuple[s.Function, int], set[int | None]] = {}
        self.slices: dict[s.Function, list[s.Stmt]] = known.slices if known else {}
        self.needed: dict[s.Function, frozenset[str]] = known.needed if known else {}
        self._acting: frozenset[str] | None = known._acting if known else None
        self._compared: frozenset[str] | None = None
        self.script: list[int] = []
        self.trail: list[tuple[int, int]] = []
        self.assumed: dict[Any, int] = {}
        self.frames: list[Frame] = []
        self.path = Path()
        self.clock = 0
        self.steps = 0
        self.tensors = 0
        from patchkit.scan import apple, aten, metal

        self.metal: metal.MetalState = known.metal if known else metal.MetalState()
        self.calls: dict[str, Callable[..., Any]] = {**aten.FUNCTIONS, **apple.FUNCTIONS, **metal.FUNCTIONS}
        self.method = aten.call_method
        self.default_call = aten.call_unknown
        self.message = apple.send
        self.construct_placeholder = apple.construct_placeholder

    # -- paths -------------------------------------------------------------------------------------

    def paths(self, run: Callable[[], Path]) -> list[Path]:
        """Run a kernel once per path.

        Args:
            run: sets up the arguments and calls the kernel; called once for each path.

        Raises:
            TooManyPaths: more than :data:`MAX_PATHS` combinations.
        """
        out: list[Path] = []
        self.script = []
        for _ in range(MAX_PATHS):
            self.trail, self.assumed, self.frames = [], {}, []
            self.path = Path()
            self.clock = self.steps = self.tensors = 0
            try:
                out.append(run())
            except PathEnd:
                pass
            except (_Break, _Continue):
                pass
            while self.trail and self.trail[-1][0] + 1 >= self.trail[-1][1]:
                self.trail.pop()
            if not self.trail:
                return out
            self.script = [pick for pick, _ in self.trail]
            self.script[-1] += 1
        raise TooManyPaths

    def choose(self, options: int, key: Any = None) -> int:
        """Pick one of ``options`` answers; the same ``key`` always gets the same answer on one path."""
        if key is not None and key in self.assumed:
            return self.assumed[key]
        place = len(self.trail)
        pick = self.script[place] if place < len(self.script) else 0
        self.trail.append((pick, options))
        if key is not None:
            self.assumed[key] = pick
        return pick

    def ask(self, cell: Cell, atoms: frozenset[str]) -> bool:
        """Whether the layout is one of ``atoms``; an open question is answered both ways, on two paths."""
        if cell.follows is not None:
            return self.ask(cell.follows, frozenset(a for a, b in PRESERVED.items() if b in atoms))
        yes = cell.atoms & atoms
        if not yes:
            return False
        no = cell.atoms - atoms
        if not no:
            return True
        if self.choose(2) == 0:
            cell.atoms = yes
            return True
        cell.atoms = no
        return False

    def ask_macos(self, at_least_15: bool) -> bool:
        """Whether the path runs on macOS 15 or newer (or, with False, on an older one)."""
        wanted = frozenset((">=15",)) if at_least_15 else frozenset(("<15",))
        if self.path.macos == wanted:
            return True
        if not self.path.macos & wanted:
            return False
        if self.choose(2) == 0:
            self.path.macos = frozenset((">=15", "<15")) - wanted
            return False
        self.path.macos = wanted
        return True

    # -- memory ------------------------------------------------------------------------------------

    def tensor(self, name: str, role: str, atoms: frozenset[str] = ALL, content: str = "data", **known: Any) -> Tensor:
        """Make a tensor with a storage of its own."""
        self.tensors += 1
        return Tensor(Cell(atoms), Storage(content), role, name, self.tensors, **known)

    def fresh(self, name: str, atoms: frozenset[str] = frozenset("C"), content: str = "raw", **known: Any) -> Tensor:
        """Make a tensor that the kernel allocated."""
        known.setdefault("is_view", False)
        known.setdefault("made_in", self.function.name)
        return self.tensor(name, "fresh", atoms, content, **known)

    def use(self, value: Any) -> None:
        """Note that a tensor's data is read, or handed to something that may read it."""
        if isinstance(value, Tensor):
            self.clock += 1
            value.base.used_at = value.used_at = self.clock

    def view(self, base: Tensor, name: str, *, same_layout: bool = True) -> Tensor:
        """Make a view; one that keeps the layout shares the cell of its base."""
        self.tensors += 1
        cell = base.cell if same_layout else Cell(frozenset("TG"))
        return Tensor(
            cell,
            base.storage,
            base.role,
            name,
            self.tensors,
            root=base,
            is_view=base.is_view,
            defined=base.defined,
        )

    # -- conditions --------------------------------------------------------------------------------

    def truth(self, value: Any) -> bool:
        """Decide a condition on this path."""
        if isinstance(value, bool):
            return value
        if isinstance(value, Test):
            kind, operands = value.kind, value.operands
            if kind == "layout":
                return self.ask(operands[0].cell, operands[1])
            if kind == "not":
                return not self.truth(operands[0])
            if kind == "and":
                return self.truth(operands[0]) and self.truth(operands[1])
            if kind == "or":
                return self.truth(operands[0]) or self.truth(operands[1])
            if kind == "macos":
                return self._macos(operands[0])
            if kind == "rank":
                return self._rank(operands[0], operands[1])
            return self.choose(2, operands) == 0
        if isinstance(value, Symbol):
            if value.key[0] in ("numel", "offset"):
                return True
            return self.choose(2, ("true", value.key)) == 0
        if isinstance(value, int):
            return value != 0
        if value is None:
            return False
        if isinstance(value, Unknown):
            return self.choose(2) == 0
        return True

    def _rank(self, tensor: Tensor, rank: int) -> bool:
        cell = tensor.cell
        if cell.rank is not None:
            return cell.rank == rank
        if self.choose(2, ("rank", id(cell), rank)) != 0:
            return False
        cell.rank = rank
        if cell.follows is None:
            kept = cell.atoms & CONTIGUOUS if rank == 0 else cell.atoms if rank in (4, 5) else cell.atoms - {"L"}
            if not kept:
                raise PathEnd
            cell.atoms = kept
        return True

    def _macos(self, version: int) -> bool:
        if version >= 15:
            return self.ask_macos(True)
        if self.path.macos == frozenset((">=15",)):
            return True
        if self.choose(2, ("macos", version)) == 0:
            return True
        self.path.macos = frozenset(("<15",))
        return False

    # -- functions ---------------------------------------------------------------------------------

    def call(self, function: s.Function, arguments: list[Any], this: Fields | None = None) -> Any:
        """Run a function of the tree on argument values (or :class:`Slot` for references)."""
        scope: dict[str, Slot] = {}
        for place, parameter in enumerate(function.parameters):
            if place < len(arguments):
                given = arguments[place]
                by_reference = "&" in parameter.type and not parameter.type.startswith("const ")
                tensor = given.value if isinstance(given, Slot) else given
                if isinstance(tensor, Tensor):
                    self._learn_rank(function, place, tensor)
                if isinstance(given, Slot):
                    slot = given if by_reference or "&" in parameter.type else Slot(given.value)
                else:
                    slot = Slot(given)
            elif parameter.default is not None:
                slot = Slot(self._default(parameter.default))
            else:
                slot = Slot(Symbol(("parameter", function.name, parameter.name)))
            if parameter.name:
                scope[parameter.name] = slot
        scopes = [scope]
        if this is not None:
            scopes.insert(0, this.fields)
        frame = Frame(function, scopes, this)
        self.frames.append(frame)
        try:
            for name, value in function.initializers:
                scopes[0][name] = Slot(self.value(value))
            self.run(self.sliced(function))
            return None
        except _Return as returned:
            return returned.value
        finally:
            self.frames.pop()

    def _learn_rank(self, function: s.Function, place: int, tensor: Tensor) -> None:
        """Ranks of fresh tensors that callers hand to a parameter tell what a caller's own tensor there can be."""
        known = self.ranks.setdefault((function, place), set())
        if tensor.role == "fresh":
            if not tensor.emptied:
                known.add(tensor.cell.rank)
        elif tensor.role == "output" and known and not known & {None, 4, 5} and tensor.cell.follows is None:
            tensor.cell.atoms = tensor.cell.atoms - frozenset("L") or tensor.cell.atoms

    def sliced(self, function: s.Function) -> list[s.Stmt]:
        """The statements of a function that decide where results go."""
        kept = self.slices.get(function)
        if kept is None:
            if function.scope:
                kept = function.body
                self.needed[function] = frozenset(p.name for p in function.parameters)
            else:
                slicer = Slicer(self.acts, self.sets)
                kept = slicer.slice(function)
                self.needed[function] = frozenset(slicer.needed)
            self.slices[function] = kept
        return kept

    def _arguments(self, function: s.Function, expressions: list[s.Expr]) -> list[Any]:
        """Evaluate the arguments that the function's slice uses."""
        self.sliced(function)
        needed = self.needed[function]
        out: list[Any] = []
        for place, expression in enumerate(expressions):
            name = function.parameters[place].name if place < len(function.parameters) else ""
            out.append(self.argument(expression) if name in needed else UNKNOWN)
        return out

    @property
    def compared(self) -> frozenset[str]:
        """String literals that some function of the tree compares with."""
        if self._compared is None:
            texts = (f.source for f in self.sources.files.values())
            self._compared = frozenset(m.decode() for t in texts for pair in _COMPARED.findall(t) for m in pair if m)
        return self._compared

    def sets(self, name: str) -> bool:
        """Whether some function of that name in the tree takes a ``Tensor&`` that it may assign."""
        return any(is_handle(p.type) for f in self.sources.functions.get(name, ()) for p in f.parameters)

    def acts(self, name: str) -> bool:
        """Whether some function of that name in the tree may run a graph or move data, itself or by its calls."""
        if self._acting is None:
            self._acting = _acting(self.sources)
        return name in self._acting

    def _default(self, expression: s.Expr) -> Any:
        if isinstance(expression, s.Literal):
            return expression.value
        if isinstance(expression, s.Unary) and isinstance(expression.operand, s.Literal):
            return UNKNOWN
        return Symbol(("default", getattr(expression, "name", ""), getattr(expression, "text", "")))

    def apply(self, closure: Closure, arguments: list[Any]) -> Any:
        """Call a lambda or block."""
        if not closure.code.relevant and not closure.code.body:
            return UNKNOWN
        scope: dict[str, Slot] = {}
        for place, parameter in enumerate(closure.code.parameters):
            given = arguments[place] if place < len(arguments) else UNKNOWN
            scope[parameter.name] = given if isinstance(given, Slot) and "&" in parameter.type else Slot(_plain(given))
        frame = Frame(self.frames[-1].function, [*closure.scopes, scope])
        self.frames.append(frame)
        try:
            self.run(closure.code.body if closure.code.kept is None else closure.code.kept)
            return None
        except _Return as returned:
            return returned.value
        finally:
            self.frames.pop()

    @property
    def function(self) -> s.Function:
        """The function being run."""
        return self.frames[-1].function

    def active(self, function: s.Function) -> bool:
        """Whether the function is already running (a recursive call)."""
        return any(f.function is function for f in self.frames)

    # -- statements --------------------------------------------------------------------------------

    def run(self, statements: list[s.Stmt]) -> None:
        """Run statements in order."""
        for statement in statements:
            self.steps += 1
            if self.steps > MAX_STEPS:
                raise TooManyPaths
            _RUN[type(statement)](self, statement)

    def _declare(self, statement: s.Declare) -> None:
        kind = statement.type
        scope = self.frames[-1].scopes[-1]
        if statement.arguments is not None:
            value: Any = self._construct(kind, statement.arguments, statement)
        elif statement.value is None:
            value = self._zero(kind)
        elif (
            isinstance(statement.value, s.Collection)
            and statement.value.kind == "init"
            and re.search(r"Placeholder$|Tensor$|Arg$", kind)
        ):
            value = self._construct(kind, statement.value.items, statement)
        else:
            if "&" in kind and "&&" not in kind:
                slot = self.slot(statement.value)
                if slot is not None:
                    scope[statement.name] = slot
                    return
            value = self.value(statement.value)
            if isinstance(value, Dictionary) and isinstance(statement.value, (s.Name, s.Member)):
                value = value if "*" in kind or "&" in kind else Dictionary(list(value.items))
        scope[statement.name] = Slot(value, kind)

    def _zero(self, kind: str) -> Any:
        base = kind.replace("const ", "").strip()
        if base in ("Tensor", "at::Tensor"):
            return self.tensor("Tensor()", "fresh", frozenset("C"), "raw", defined=False)
        if base.endswith("Placeholder"):
            return Placeholder(None, None)
        if "vector" in base or "array" in base or "List" in base or "SmallVector" in base or "Dictionary" in base:
            return Dictionary()
        if "optional" in base:
            return None
        return Symbol(("uninitialised", base, self.steps))

    def _construct(self, kind: str, arguments: list[s.Expr], statement: s.Declare) -> Any:
        base = kind.replace("const ", "").strip().split("::")[-1]
        if base == "Placeholder":
            return self.construct_placeholder(self, arguments, statement.start, statement.end)
        values = [self.value(a) for a in arguments]
        if base == "Tensor" or kind.endswith("Tensor"):
            return values[0] if values else self._zero("Tensor")
        tensors = [v for v in values if isinstance(v, (Tensor, Fields))]
        if len(tensors) == 1 and ("Arg" in base or "optional" in base or "MaybeOwned" in kind):
            return tensors[0]
        if any(isinstance(v, Tensor) for v in values):
            return Dictionary(list(values))
        return Symbol(("object", base, tuple(_key(v) for v in values)))

    def _bind(self, statement: s.Bind) -> None:
        value = self.value(statement.value)
        items = value.items if isinstance(value, Dictionary) else []
        for place, name in enumerate(statement.names):
            item = items[place] if place < len(items) else UNKNOWN
            if isinstance(item, Unknown) and isinstance(value, Symbol):
                item = Symbol(("element", value.key, place))
            self.frames[-1].scopes[-1][name] = Slot(item)

    def _evaluate(self, statement: s.Evaluate) -> None:
        self.value(statement.value)

    def _if(self, statement: s.If) -> None:
        self.frames[-1].scopes.append({})
        try:
            if statement.init is not None:
                self.run([statement.init])
            if self.truth(self.value(statement.test)):
                self.run(statement.then)
            else:
                self.run(statement.other)
        finally:
            self.frames[-1].scopes.pop()

    def _loop(self, statement: s.Loop) -> None:
        self.frames[-1].scopes.append({})
        try:
            self.run(statement.head)
            items: list[Any] = [UNKNOWN]
            if statement.over is not None:
                over = self.value(statement.over)
                if isinstance(over, Dictionary) and 0 < len(over.items) <= 8:
                    items = list(over.items)
            for item in items:
                if statement.variable:
                    self.frames[-1].scopes[-1][statement.variable] = Slot(item)
                for name in statement.names:
                    self.frames[-1].scopes[-1][name] = Slot(UNKNOWN)
                try:
                    self.run(statement.body)
                except _Break:
                    break
                except _Continue:
                    continue
        finally:
            self.frames[-1].scopes.pop()

    def _switch(self, statement: s.Switch) -> None:
        value = self.value(statement.value)
        if isinstance(value, Test):
            value = int(self.truth(value))
        known = self._matching_case(value, statement)
        pick = (
            known
            if known is not None
            else self.choose(len(statement.cases) or 1, ("switch", _key(value), statement.start))
        )
        try:
            for _, body in statement.cases[pick:]:
                self.frames[-1].scopes.append({})
                try:
                    self.run(body)
                finally:
                    self.frames[-1].scopes.pop()
        except _Break:
            pass

    def _matching_case(self, value: Any, statement: s.Switch) -> int | None:
        key = _key(value)
        if not (isinstance(value, (str, int)) or (isinstance(value, Symbol) and value.key[0] == "constant")):
            return None
        default: int | None = None
        for place, (labels, _) in enumerate(statement.cases):
            for label in labels:
                if label is None:
                    default = place
                elif _key(self.value(label)) == key:
                    return place
        return default

    def _return(self, statement: s.Return) -> None:
        raise _Return(self.value(statement.value) if statement.value is not None else None)

    def _block(self, statement: s.Block) -> None:
        self.frames[-1].scopes.append({})
        try:
            self.run(statement.body)
        finally:
            self.frames[-1].scopes.pop()

    def _jump(self, statement: s.Jump) -> None:
        if statement.kind == "break":
            raise _Break
        if statement.kind == "continue":
            raise _Continue
        raise PathEnd

    # -- expressions -------------------------------------------------------------------------------

    def value(self, expression: s.Expr) -> Any:
        """Evaluate an expression on this path."""
        return _VALUE[type(expression)](self, expression)

    def slot(self, expression: s.Expr) -> Slot | None:
        """The variable an expression names, for references and assignments; None where it names no variable."""
        if isinstance(expression, s.Name):
            return self.lookup(expression.name)
        if isinstance(expression, s.Cast):
            return self.slot(expression.operand)
        if isinstance(expression, s.Unary) and expression.operator in ("*", "&"):
            return self.slot(expression.operand)
        if isinstance(expression, s.Conditional):
            return self.slot(expression.then if self.truth(self.value(expression.test)) else expression.other)
        if isinstance(expression, s.Member):
            owner = self.value(expression.object)
            if isinstance(owner, Fields):
                return owner.fields.setdefault(expression.name, Slot(UNKNOWN))
        if isinstance(expression, s.Collection) and expression.kind == "comma" and expression.items:
            return self.slot(expression.items[-1])
        return None

    def lookup(self, name: str) -> Slot | None:
        """The variable of that name in scope."""
        for scope in reversed(self.frames[-1].scopes):
            if name in scope:
                return scope[name]
        return None

    def _name(self, expression: s.Name) -> Any:
        if expression.name in ("nil", "NULL", "nullopt"):
            return None
        if not expression.scope:
            slot = self.lookup(expression.name)
            if slot is not None:
                return slot.value
            if expression.name in ("YES", "NO"):
                return expression.name == "YES"
        kind = "constant" if expression.scope or _ENUMERATOR.match(expression.name) else "variable"
        return Symbol((kind, expression.scope.rpartition("::")[2], expression.name))

    def _literal(self, expression: s.Literal) -> Any:
        return expression.value

    def _member(self, expression: s.Member) -> Any:
        owner = self.value(expression.object)
        if isinstance(owner, Fields):
            slot = owner.fields.get(expression.name)
            return slot.value if slot is not None else UNKNOWN
        if isinstance(owner, Tensor):
            return Symbol(("member", owner.key, expression.name), (owner,))
        return Symbol(("member", _key(owner), expression.name))

    def _call(self, expression: s.Call) -> Any:
        callee = expression.callee
        if isinstance(callee, s.Member):
            owner = self.value(callee.object)
            return self.method(self, owner, callee.name, expression)
        if isinstance(callee, s.Lambda):
            return self.apply(self._lambda(callee), [self.value(a) for a in expression.arguments])
        if isinstance(callee, s.Name):
            slot = self.lookup(callee.name) if not callee.scope else None
            if slot is not None and isinstance(slot.value, Closure):
                return self.apply(slot.value, [self.argument(a) for a in expression.arguments])
            if callee.name == "Placeholder":
                return self.construct_placeholder(self, expression.arguments, expression.start, expression.end)
            known = self.calls.get(callee.name)
            if known is not None:
                return known(self, expression)
            function = self.find(callee, expression)
            if function is not None:
                return self.call(function, self._arguments(function, expression.arguments))
            return self.default_call(self, callee, expression)
        self.value(callee)
        for argument in expression.arguments:
            self.value(argument)
        return UNKNOWN

    def argument(self, expression: s.Expr) -> Any:
        """Evaluate an argument so that a reference parameter can alias the caller's variable."""
        if isinstance(expression, (s.Name, s.Cast)) or (
            isinstance(expression, s.Unary) and expression.operator in ("*", "&")
        ):
            slot = self.slot(expression)
            if slot is not None:
                return slot
        return self.value(expression)

    def find(self, callee: s.Name, expression: s.Call) -> s.Function | None:
        """The function of the tree that a call means: same name, fitting arity, same file first.

        Functions that neither act nor answer anything about a tensor are not entered.
        """
        candidates = self.sources.functions.get(callee.name)
        if not candidates or len(self.frames) > MAX_DEPTH:
            return None
        if (
            not self.acts(callee.name)
            and not self.sets(callee.name)
            and not any(_ANSWERS.search(f.returns) for f in candidates)
        ):
            return None
        if callee.scope and callee.scope.split("::")[-1] in ("at", "std", "c10"):
            return None
        count = len(expression.arguments)
        fitting = [
            f
            for f in candidates
            if not f.scope
            and sum(p.default is None for p in f.parameters) <= count <= len(f.parameters)
            and not self.active(f)
        ]
        if not fitting:  # default arguments stand in the header's declaration, not in the definition
            fitting = [f for f in candidates if not f.scope and count < len(f.parameters) and not self.active(f)]
        if len(fitting) > 1:
            here = self.frames[-1].function.file
            fitting = [f for f in fitting if f.file == here] or fitting
        if len(fitting) > 1:
            fitting = self._by_types(fitting, expression) or fitting
        return fitting[0] if fitting else None

    def _by_types(self, candidates: list[s.Function], expression: s.Call) -> list[s.Function]:
        kinds = [_kind(self.peek(a)) for a in expression.arguments]
        best: list[s.Function] = []
        best_score = -1
        for function in candidates:
            score = 0
            for kind, parameter in zip(kinds, function.parameters, strict=False):
                takes = (
                    "tensor"
                    if "Tensor" in parameter.type and "List" not in parameter.type
                    else ("placeholder" if "Placeholder" in parameter.type else "other")
                )
                score += kind == takes
            if score > best_score:
                best, best_score = [function], score
            elif score == best_score:
                best.append(function)
        return best

    def peek(self, expression: s.Expr) -> Any:
        """The value of a plain name, without effects."""
        slot = self.slot(expression) if isinstance(expression, (s.Name, s.Cast, s.Unary)) else None
        return slot.value if slot is not None else None

    def _message(self, expression: s.Message) -> Any:
        return self.message(self, expression)

    def _collection(self, expression: s.Collection) -> Any:
        if expression.kind == "comma":
            result: Any = None
            for item in expression.items:
                result = self.value(item)
            return result
        if expression.type.endswith("Placeholder"):
            return self.construct_placeholder(self, expression.items, expression.start, expression.end)
        values = [self.value(i) for i in expression.items]
        if expression.type.endswith("Tensor"):
            return values[0] if values else self._zero("Tensor")
        if expression.kind == "{":
            return Dictionary(values[1::2])
        return Dictionary(values)

    def _conditional(self, expression: s.Conditional) -> Any:
        return self.value(expression.then if self.truth(self.value(expression.test)) else expression.other)

    def _unary(self, expression: s.Unary) -> Any:
        value = self.value(expression.operand)
        if expression.operator == "!":
            if isinstance(value, bool):
                return not value
            return Test("not", (value,))
        if expression.operator in ("*", "&"):
            return value
        if expression.operator == "-" and isinstance(value, int) and not isinstance(value, bool):
            return -value
        return Symbol(("unary", expression.operator, _key(value)))

    def _binary(self, expression: s.Binary) -> Any:
        operator = expression.operator
        left = self.value(expression.left)
        if operator in ("&&", "||"):
            if isinstance(left, bool):
                if left == (operator == "||"):
                    return left
                return self.value(expression.right)
            right = self.value(expression.right)
            if isinstance(right, bool) and right == (operator == "||"):
                return right
            if isinstance(right, bool):
                return left
            return Test("and" if operator == "&&" else "or", (left, right))
        right = self.value(expression.right)
        if operator in ("==", "!=", "<", ">", "<=", ">="):
            return self.compare(operator, left, right)
        if operator == "+" and (joined := _joined(left, right)) is not None:
            return joined
        return Symbol(("binary", operator, _key(left), _key(right)), _tensors(left) + _tensors(right))

    def compare(self, operator: str, left: Any, right: Any) -> Any:
        """Compare two values: decided where both are constants, else an unknown condition."""
        if operator in ("==", "!="):
            for one, other in ((left, right), (right, left)):
                prefix = one.key[1] if isinstance(one, Symbol) and one.key[0] == "prefix" else None
                if prefix is not None and isinstance(other, str) and not other.strip('"').startswith(prefix):
                    return operator == "!="
        if _constant(left) and _constant(right):
            a, b = _key(left), _key(right)
            if operator in ("==", "!="):
                return (a == b) == (operator == "==")
            if isinstance(left, int) and isinstance(right, int):
                return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[operator]
        from patchkit.scan import aten

        special = aten.compare(self, operator, left, right)
        if special is not None:
            return special
        if operator in ("!=", ">=", "<="):
            opposite = {"!=": "==", ">=": "<", "<=": ">"}[operator]
            return Test("not", (Test("unknown", ("compare", opposite, _key(left), _key(right))),))
        return Test("unknown", ("compare", operator, _key(left), _key(right)))

    def _assign(self, expression: s.Assign) -> Any:
        target = expression.target
        if expression.operator != "=":
            self.value(expression.value)
            slot = self.slot(target)
            if slot is not None:
                if expression.operator == "|=" and isinstance(slot.value, (bool, Test)):
                    slot.value = Test("or", (slot.value, self.value(expression.value)))
                elif expression.operator == "&=" and isinstance(slot.value, (bool, Test)):
                    slot.value = Test("and", (slot.value, self.value(expression.value)))
                elif not isinstance(slot.value, Tensor):
                    slot.value = Symbol(("updated", self.steps))
            return UNKNOWN
        if (
            isinstance(target, s.Call)
            and isinstance(target.callee, s.Name)
            and target.callee.name in ("tie", "std::tie")
        ):
            value = self.value(expression.value)
            items = value.items if isinstance(value, Dictionary) else []
            for place, part in enumerate(target.arguments):
                self.store(part, items[place] if place < len(items) else UNKNOWN, expression.start)
            return value
        if (
            isinstance(expression.value, s.Collection)
            and expression.value.kind == "init"
            and isinstance(self.peek(target), Placeholder)
        ):
            value = self.construct_placeholder(
                self, expression.value.items, expression.value.start, expression.value.end
            )
        else:
            value = self.value(expression.value)
        self.store(target, value, expression.start)
        return value

    def store(self, target: s.Expr, value: Any, position: int) -> None:
        """Assign to what an expression names."""
        if isinstance(target, s.Index):
            holder = self.value(target.object)
            if isinstance(holder, Dictionary):
                index = self.value(target.index)
                if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < len(holder.items):
                    holder.items[index] = value
                else:
                    holder.items.append(value)
            return
        slot = self.slot(target)
        if slot is None:
            this = self.frames[-1].this
            if this is not None and isinstance(target, s.Name):
                this.fields[target.name] = Slot(value)
            return
        old = slot.value
        if isinstance(old, Tensor) and old.role == "output" and value is not old:
            self._rebind(slot, old, value, position)
        slot.value = value

    def _rebind(self, slot: Slot, old: Tensor, new: Any, position: int) -> None:
        if isinstance(new, Symbol):  # the result of a call of another operator, unless that was given the output
            another = new.key[0] == "call" and all(t.base is not old.base for t in new.tensors)
        else:
            another = isinstance(new, Tensor) and new.storage is not old.storage
        if slot.type == "caller" and another:
            made_from = new.source if isinstance(new, Tensor) else None
            place = self.sources.place(self.function, position)
            self.path.rebound.append((old.base, self.function.file, place, made_from))

    def _index(self, expression: s.Index) -> Any:
        holder, index = self.value(expression.object), self.value(expression.index)
        if isinstance(holder, Dictionary):
            if (
                isinstance(index, int)
                and not isinstance(index, bool)
                and -len(holder.items) <= index < len(holder.items)
            ):
                return holder.items[index]
            if len(holder.items) == 1:
                return holder.items[0]
            tensors = [i for i in holder.items if isinstance(i, Tensor)]
            if tensors:
                return tensors[0]
            return Symbol(("element", id(holder), _key(index)))
        if isinstance(holder, Tensor):
            return self.view(holder, f"{holder.name}[...]", same_layout=False)
        return Symbol(("element", _key(holder), _key(index)))

    def _cast(self, expression: s.Cast) -> Any:
        return self.value(expression.operand)

    def _lambda(self, expression: s.Lambda) -> Closure:
        frame = self.frames[-1]
        return Closure(expression, list(frame.scopes), frame.function.file, frame.function.name)

    def _opaque(self, expression: s.Opaque) -> Any:
        return Symbol(("text", expression.text))


_ENUMERATOR = re.compile(r"k?[A-Z]")
_ACTS = re.compile(
    rb"\brunMPSGraph\b|resultsDictionary|\bcopy_\(|executeMPSGraph|mps_copy_\(|_copy_from"
    rb"|mtl_set(?:Args|Buffer)\b|setBuffer:|(?:result|solution)Matrix:|resultVector:|destinationArray:|dispatchThread"
)
_ANSWERS = re.compile(
    r"(?<!Graph)\bTensor\b|\bbool\b|MTLBuffer|NDArray|GraphTensorData|Placeholder|NSDictionary|MemoryFormat|tuple|pair|auto"
)
_COMPARED = re.compile(rb'[=!]=\s*@?"([^"\n]*)"|"([^"\n]*)"\s*[=!]=')
_CALLED = re.compile(rb"[A-Za-z_]\w*(?=[(<])")


def _acting(sources: Sources) -> frozenset[str]:
    """Names of the functions that run a graph or copy, directly or through functions they call."""
    calls: dict[str, set[str]] = {}
    acting: set[str] = set()
    for name, functions in sources.functions.items():
        for function in functions:
            if function.scope:
                continue
            if _ACTS.search(function.text):
                acting.add(name)
            calls.setdefault(name, set()).update(m.decode() for m in _CALLED.findall(function.text))
    while True:
        more = {name for name, called in calls.items() if name not in acting and called & acting}
        if not more:
            return frozenset(acting)
        acting |= more


def _joined(left: Any, right: Any) -> Any:
    """A string concatenation, of which at least the beginning is known; None for other sums."""
    if isinstance(left, str) and left.startswith('"'):
        if isinstance(right, str) and right.startswith('"'):
            return left[:-1] + right[1:]
        return Symbol(("prefix", left.strip('"'), _key(right)))
    if isinstance(left, Symbol) and left.key[0] == "prefix":
        return Symbol(("prefix", left.key[1], (*left.key[2:], _key(right))))
    return None


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Slot) else value


def _constant(value: Any) -> bool:
    return value is None or isinstance(value, (str, int)) or (isinstance(value, Symbol) and value.key[0] == "constant")


def _tensors(value: Any) -> tuple[Tensor, ...]:
    if isinstance(value, Tensor):
        return (value,)
    return value.tensors if isinstance(value, Symbol) else ()


def _key(value: Any) -> Any:
    """A hashable name for a value: equal keys mean equal values on one path."""
    if isinstance(value, Symbol):
        return value.key
    if isinstance(value, Tensor):
        return ("tensor", value.key)
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if isinstance(value, Test):
        return (
            "test",
            value.kind,
            tuple(_key(o) if not isinstance(o, frozenset) else o for o in value.operands),
        )
    if isinstance(value, tuple):
        return tuple(_key(v) for v in value)
    if isinstance(value, Dictionary):
        return ("list", tuple(_key(i) for i in value.items))
    return ("object", id(value))


def _kind(value: Any) -> str:
    if isinstance(value, Tensor):
        return "tensor"
    return "placeholder" if isinstance(value, Placeholder) else "other"


key_of = _key

_RUN: dict[type, Callable[[Machine, Any], None]] = {
    s.Declare: Machine._declare,
    s.Bind: Machine._bind,
    s.Evaluate: Machine._evaluate,
    s.If: Machine._if,
    s.Loop: Machine._loop,
    s.Switch: Machine._switch,
    s.Return: Machine._return,
    s.Block: Machine._block,
    s.Jump: Machine._jump,
}
_VALUE: dict[type, Callable[[Machine, Any], Any]] = {
    s.Name: Machine._name,
    s.Literal: Machine._literal,
    s.Member: Machine._member,
    s.Call: Machine._call,
    s.Message: Machine._message,
    s.Collection: Machine._collection,
    s.Conditional: Machine._conditional,
    s.Unary: Machine._unary,
    s.Binary: Machine._binary,
    s.Assign: Machine._assign,
    s.Index: Machine._index,
    s.Cast: Machine._cast,
    s.Lambda: Machine._lambda,
    s.Opaque: Machine._opaque,
}
