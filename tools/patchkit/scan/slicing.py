"""Keep of a function only what decides where a graph result goes.

A kernel is mostly graph building, cache keys and input feeding. The slice starts at the results of graph runs, at
copies and at calls of other functions that do such things, and keeps backwards what these depend on: the tensors,
the flags, the conditions around them. Everything else is dropped, and with it every condition that would only make
paths multiply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

from patchkit.scan import syntax as s

#: Methods whose answer narrows a layout; a check on one of them is kept.
_LAYOUT_WORDS = re.compile(
    r"is_contiguous|storage_offset|\bdim\b|ndimension|suggest_memory_format|needsGather|is_view|strides?\b"
    r"|is_non_overlapping|is_same|is_alias|defined|has_value|(?i:macos)_(?:VER_)?(?:1[5-9]|[2-9][0-9])"
)
_CHECKS = re.compile(
    r"TORCH_CHECK|TORCH_INTERNAL_ASSERT|^assert$|^NSAssert|^AT_ASSERT|CheckedFrom|^checkAllSame|^checkDim"
)
_TENSOR_RESULT = re.compile(r"Tensor|tuple|pair|auto|bool|NDArray|MTLBuffer|MemoryFormat|Placeholder|NSDictionary|int")
#: Types of variables that say nothing about a tensor; a condition on one stays an unknown.
_DULL_TYPE = re.compile(
    r"CachedGraph|Stream|string|Shape|MPSScalar|NSArray|NSNumber|NSMutableArray|IntArrayRef|SmallVector<int|vector<int"
    r"|vector<NSNumber|^(?:const |constexpr |static )*(?:unsigned |u?int(?:8|16|32|64)?(?:_t)?|NSU?Integer|size_t"
    r"|float|double|long|DimVector|MPSDataType|ScalarType|c10::ScalarType|dispatch_queue_t)\b"
)
_DULL_CALLEE = re.compile(
    r"CachedGraph|LookUp|getCurrentMPSStream|getMPSShape|getInstance|KeyString|StringKey|PlaceHolder$"
)
_GROWS = frozenset(("push_back", "emplace_back", "append", "add", "emplace"))


def expressions(node: Any) -> Iterator[s.Expr]:
    """Every expression in an expression, outermost first; bodies of lambdas are left out."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, s.Expr):
            yield current
            if not isinstance(current, s.Lambda):
                for name in EXPRESSION_FIELDS[type(current)]:
                    stack.append(getattr(current, name))
        elif isinstance(current, list):
            stack.extend(current)


def names(node: Any) -> set[str]:
    """The identifiers an expression mentions, those in lambdas that matter included."""
    found: set[str] = set()
    for expression in expressions(node):
        if isinstance(expression, s.Name):
            found.add(expression.name)
        elif isinstance(expression, s.Opaque):
            found.update(re.findall(r"[A-Za-z_]\w*", expression.text))
    return found


EXPRESSION_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(f.name for f in fields(kind) if f.name not in ("start", "end", "name", "kept"))
    for kind in (
        s.Name, s.Literal, s.Call, s.Member, s.Message, s.Collection, s.Conditional, s.Unary, s.Binary, s.Assign,
        s.Index, s.Cast, s.Lambda, s.Opaque,
    )
}  # fmt: skip


#: Calls that run a graph, move data, or change where a tensor's elements are.
ACTS = frozenset(("copy_", "runMPSGraph", "executeMPSGraph", "mps_copy_", "_copy_from", "empty_tensor_restride"))
#: Calls that bind the arguments of a Metal kernel, or dispatch it; the encoder comes first.
ENCODERS = frozenset(("mtl_setArgs", "mtl_setBuffer", "mtl_dispatch1DJob"))
#: Parts of a selector whose argument is the matrix or array that a matrix kernel writes.
RESULTS = ("resultMatrix", "solutionMatrix", "resultVector", "destinationArray")


def encodes(selector: str) -> bool:
    """Whether a message binds a buffer of a Metal kernel, dispatches one, or writes a matrix."""
    return selector.startswith(("setBuffer:offset:", "dispatchThread")) or any(f"{r}:" in selector for r in RESULTS)


def written_to(message: s.Message) -> list[s.Expr]:
    """Of such a message the arguments that stand for memory: the buffer bound, or the matrix written."""
    if message.selector.startswith("setBuffer:"):
        return message.arguments[:1]
    parts = zip(message.selector.split(":"), message.arguments, strict=False)
    return [argument for part, argument in parts if part in RESULTS]


class Slicer:
    """Slices one function.

    Args:
        acts: whether a call of that name may run a graph or move a tensor's data.
        sets: whether a call of that name may point a tensor of its caller at another one.
    """

    def __init__(self, acts: Callable[[str], bool], sets: Callable[[str], bool]) -> None:
        self.acts = acts
        self.sets = sets
        self.needed: set[str] = set()
        self.callables: set[str] = set()
        self.ungathered = False

    def slice(self, function: s.Function) -> list[s.Stmt]:
        """Return the statements of a function that matter; ``needed`` then names the variables they use."""
        returns = bool(_TENSOR_RESULT.search(function.returns)) or function.returns == ""
        self.needed |= {p.name for p in function.parameters if is_handle(p.type)}
        kept = self._settle(function, returns)
        if not _reads_ungathered(function):
            return kept
        # What is fed matters too, but no condition that decides only about what is fed: all of it counts as fed.
        deciding = {(type(n), n.start) for n in _statements(kept)}
        self.ungathered = True
        return _flattened(self._settle(function, returns), deciding)

    def _settle(self, function: s.Function, returns: bool) -> list[s.Stmt]:
        while True:
            before = len(self.needed)
            kept = self._block(function.body, returns)
            if len(self.needed) == before:
                return kept

    # -- statements --------------------------------------------------------------------------------

    def _block(self, statements: list[s.Stmt], returns: bool) -> list[s.Stmt]:
        out: list[s.Stmt] = []
        for statement in reversed(statements):
            kept = self._statement(statement, returns)
            if kept is not None:
                out.append(kept)
        out.reverse()
        return out

    def _statement(self, statement: s.Stmt, returns: bool) -> s.Stmt | None:
        if isinstance(statement, s.Declare):
            return self._declare(statement)
        if isinstance(statement, s.Evaluate):
            return self._evaluate(statement)
        if isinstance(statement, s.Return):
            if statement.value is not None and (returns or self._core(statement.value)):
                self._need(statement.value)
                return statement
            return s.Return(statement.start, statement.end, None)
        if isinstance(statement, s.If):
            return self._if(statement, returns)
        if isinstance(statement, s.Block):
            body = self._block(statement.body, returns)
            return s.Block(statement.start, statement.end, body) if body else None
        if isinstance(statement, s.Loop):
            body = self._block(statement.body, returns)
            if not _acts(body):
                return None
            if statement.over is not None:
                self._need(statement.over)
            return s.Loop(statement.start, statement.end, [], statement.variable, statement.over, body, statement.names)
        if isinstance(statement, s.Switch):
            cases = [(labels, self._block(body, returns)) for labels, body in statement.cases]
            if not any(_acts(body) for _, body in cases):
                return None
            self._need(statement.value)
            return s.Switch(statement.start, statement.end, statement.value, cases)
        if isinstance(statement, s.Bind):
            if any(n in self.needed for n in statement.names) or self._core(statement.value):
                self._need(statement.value)
                return statement
            return None
        return statement

    def _declare(self, statement: s.Declare) -> s.Stmt | None:
        wanted = statement.name in self.needed
        parts: list[s.Expr] = list(statement.arguments or [])
        if statement.value is not None:
            parts.append(statement.value)
        if isinstance(statement.value, s.Lambda):
            if statement.value.relevant and self._lambda(statement.value):
                self.callables.add(statement.name)  # what it does happens where it is called
            return statement if wanted else None
        core = any(self._core(p) for p in parts)
        if not wanted and not core:
            return None
        if not core and self._dull(statement, parts):
            return None
        if "Placeholder" in statement.type and statement.arguments is not None:
            parts = parts[1:]
        for part in parts:
            self._need(part)
        return statement

    def _dull(self, statement: s.Declare, parts: list[s.Expr]) -> bool:
        """Whether a variable can say nothing about a tensor: a number, a shape, a cached graph."""
        for part in parts:
            if isinstance(part, s.Cast):
                part = part.operand
            if isinstance(part, s.Call):
                callee = part.callee
                if isinstance(callee, (s.Name, s.Member)) and _DULL_CALLEE.search(callee.name):
                    return True
        if not _DULL_TYPE.search(statement.type):
            return False
        return not any(self._about_layout(p) for p in parts)

    def _evaluate(self, statement: s.Evaluate) -> s.Stmt | None:
        value = statement.value
        if isinstance(value, s.Assign):
            if _root(value.target) & self.needed or self._core(value.value):
                self._need(value.value)
                self.needed |= _root(value.target)
                return statement
            return None
        if isinstance(value, s.Call) and isinstance(value.callee, s.Name) and _CHECKS.search(value.callee.name):
            if value.arguments and self._about_layout(value.arguments[0]):
                self._need(value.arguments[0])
                return statement
            return None
        if self._core(value):
            self._need(value)
            return statement
        if self._writes_needed(value):
            self._need(value)
            return statement
        return None

    def _about_layout(self, test: s.Expr) -> bool:
        for expression in expressions(test):
            word = getattr(expression, "name", "")
            if word and _LAYOUT_WORDS.search(word):
                return True
        return False

    def _if(self, statement: s.If, returns: bool) -> s.Stmt | None:
        then = self._block(statement.then, returns)
        other = self._block(statement.other, returns)
        init = self._statement(statement.init, returns) if statement.init is not None else None
        if not then and not other and init is None:
            return None
        only_throws = _only_throws(then) and not other
        if only_throws and not self._about_layout(statement.test):
            return None
        self._need(statement.test)
        if statement.init is not None and init is None:
            init = self._statement(statement.init, returns)
        return s.If(statement.start, statement.end, init, statement.test, then, other)

    # -- what matters ------------------------------------------------------------------------------

    def _core(self, value: s.Expr) -> bool:
        """Whether evaluating an expression runs a graph, copies, or calls something that does."""
        for expression in expressions(value):
            if isinstance(expression, s.Call):
                callee = expression.callee
                name = callee.name if isinstance(callee, (s.Name, s.Member)) else ""
                if name in ACTS or name in ENCODERS:
                    return True
                if isinstance(callee, s.Name) and (name in self.callables or self.acts(name)):
                    return True
            elif (
                isinstance(expression, s.Message)
                and ("resultsDictionary:" in expression.selector or encodes(expression.selector))
            ) or (isinstance(expression, s.Lambda) and expression.relevant and self._lambda(expression)):
                return True
        return False

    def _lambda(self, expression: s.Lambda) -> bool:
        expression.kept = self._block(expression.body, True)
        return _acts(expression.kept)

    def _writes_needed(self, value: s.Expr) -> bool:
        """Whether a statement may write a variable that matters: a method on it, or a call that is given it."""
        if isinstance(value, s.Call):
            callee = value.callee
            if isinstance(callee, s.Member):
                if callee.name in ("resize_", "resize_as_") and not _resizes_to_something(value):
                    return False
                mutates = callee.name.endswith("_") or callee.name in _GROWS or callee.name == "empty_tensor_restride"
                return mutates and bool(names(callee.object) & self.needed)
            if isinstance(callee, s.Name):
                mutates = callee.name.endswith(("_", "_out", "_outf", "_stub")) or self.sets(callee.name)
                return mutates and bool(names(value.arguments) & self.needed)
        if isinstance(value, s.Message):
            grows = value.selector.startswith(("set", "add", "insert"))
            return grows and bool(names(value.receiver) & self.needed)
        return False

    def _need(self, value: Any) -> None:
        """Note the variables an expression depends on; of a graph run only its results, of a Placeholder its tensor."""
        stack = [value]
        while stack:
            current = stack.pop()
            if isinstance(current, list):
                stack.extend(current)
                continue
            if isinstance(current, s.Name):
                self.needed.add(current.name)
                continue
            if isinstance(current, s.Opaque):
                self.needed.update(re.findall(r"[A-Za-z_]\w*", current.text))
                continue
            if not isinstance(current, s.Expr):
                continue
            if isinstance(current, s.Message) and encodes(current.selector):
                stack.extend(written_to(current))
                continue
            if isinstance(current, s.Message) and current.selector.startswith("initWithBuffer:offset:"):
                stack.extend(current.arguments[:2])  # what the descriptor says is read without running it
                continue
            if isinstance(current, s.Call) and isinstance(current.callee, s.Name):
                if current.callee.name in ENCODERS:
                    stack.extend(current.arguments[1:] if "set" in current.callee.name else ())
                    continue
                if current.callee.name == "Placeholder":
                    stack.extend(current.arguments[1:])
                    continue
                if _DULL_CALLEE.search(current.callee.name):
                    continue
                if current.callee.name == "runMPSGraph" and len(current.arguments) >= 4:
                    stack.extend(current.arguments[2 if self.ungathered else 3 :])
                    continue
            if (
                isinstance(current, s.Call)
                and isinstance(current.callee, s.Member)
                and current.callee.name.startswith("resize_")
            ):
                stack.append(current.callee.object)
                continue
            if isinstance(current, s.Message) and "resultsDictionary:" in current.selector:
                place = current.selector.split(":").index("resultsDictionary")
                stack.append(current.arguments[place])
                continue
            if isinstance(current, s.Collection) and current.kind == "{":
                stack.extend(current.items[1::2])
                continue
            if isinstance(current, s.Lambda):
                if current.relevant:
                    self._lambda(current)
                continue
            for name in EXPRESSION_FIELDS[type(current)]:
                stack.append(getattr(current, name))


def _reads_ungathered(function: s.Function) -> bool:
    """Whether a Placeholder's gather flag can be off: then what is fed, and in which order, matters too."""
    if function.text.count(b"Placeholder") < 2:
        return False
    stack: list[Any] = [function.body]
    while stack:
        current = stack.pop()
        if isinstance(current, (list, tuple)):
            stack.extend(current)
        elif isinstance(current, s.Call) and getattr(current.callee, "name", "") == "Placeholder":
            flag = current.arguments[3] if len(current.arguments) > 3 else None
            if flag is not None and not (isinstance(flag, s.Literal) and flag.value is True):
                return True
        elif isinstance(current, (s.Expr, s.Stmt)):
            stack.extend(getattr(current, f.name) for f in fields(current) if f.name not in ("start", "end"))
    return False


def _statements(body: list[s.Stmt]) -> Iterator[s.Stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, s.If):
            yield from _statements(statement.then)
            yield from _statements(statement.other)
        elif isinstance(statement, (s.Block, s.Loop)):
            yield from _statements(statement.body)
        elif isinstance(statement, s.Switch):
            for _, inner in statement.cases:
                yield from _statements(inner)


def _flattened(body: list[s.Stmt], deciding: set[tuple[type, int]]) -> list[s.Stmt]:
    """Replace every condition that is not among ``deciding`` by what stands in its branches."""
    out: list[s.Stmt] = []
    for statement in body:
        if isinstance(statement, s.If):
            then, other = _flattened(statement.then, deciding), _flattened(statement.other, deciding)
            if (s.If, statement.start) in deciding:
                out.append(s.If(statement.start, statement.end, statement.init, statement.test, then, other))
            else:
                out.extend((*then, *other))
        elif isinstance(statement, s.Block):
            out.append(s.Block(statement.start, statement.end, _flattened(statement.body, deciding)))
        else:
            out.append(statement)
    return out


def is_handle(kind: str) -> bool:
    """Whether a parameter of that type lets the function point its caller's tensor at another one."""
    return kind.replace(" ", "").endswith("Tensor&") and not kind.startswith("const ")


def _root(target: s.Expr) -> set[str]:
    """The variables an assignment changes: of ``a[i]`` and ``a->b`` it is ``a``."""
    while isinstance(target, (s.Index, s.Member, s.Cast, s.Unary)):
        target = target.operand if isinstance(target, (s.Cast, s.Unary)) else target.object
    if isinstance(target, s.Call):  # std::tie(a, b) = ...
        return {name for argument in target.arguments for name in _root(argument)}
    return {target.name} if isinstance(target, s.Name) else set()


def _resizes_to_something(call: s.Call) -> bool:
    """Whether a ``resize_`` can change what is known: the number of dimensions, or a memory format."""
    first = call.arguments[0] if call.arguments else None
    return isinstance(first, s.Collection) or len(call.arguments) > 1


def _acts(statements: list[s.Stmt]) -> bool:
    """Whether kept statements do anything but leave a loop."""
    return any(not isinstance(statement, s.Jump) for statement in statements)


def _only_throws(statements: list[s.Stmt]) -> bool:
    return bool(statements) and isinstance(statements[-1], s.Jump) and statements[-1].kind == "throw"
