"""What a Metal dispatch or an MPSMatrix kernel writes, and whether it knows the strides of what it writes to.

A dispatch is followed on each path: the tensors bound to buffer arguments, then the kernel function's own source
(:mod:`patchkit.scan.shaders`). A write is in its right place where the tensor is contiguous, where the place of each
store depends on an argument made from that tensor's strides (or from the iterator's offsets), or where an
element-wise kernel reads dense inputs of the very layout it writes. ``mtl_setBuffer`` honours a storage offset
(``OperationUtils.h``); ``setBuffer:offset:`` does where it is told to. ``needsGather`` is no guard: it is false on
macOS 15 (PR 146085).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from patchkit.scan import syntax as s
from patchkit.scan.layout import CONTIGUOUS, Tensor
from patchkit.scan.shaders import ShaderKernel, matches, runtime_kernels, shader_kernels
from patchkit.scan.slicing import RESULTS, expressions, names
from patchkit.scan.values import Binding, Buffer, Placeholder
from patchkit.scan.walk import text_of, walk

if TYPE_CHECKING:
    from patchkit.scan.machine import Machine

#: Functions that bind arguments, by their place: the encoder first (``OperationUtils.h``).
BINDERS = frozenset(("mtl_setArgs", "mtl_setBuffer", "mtl_setBytes"))
_DISPATCHES = re.compile(
    rb"mtl_set(?:Args|Buffer)\b|setBuffer:|resultMatrix:|solutionMatrix:|resultVector:|destinationArray:"
)
_STRIDES = frozenset(("strides", "stride", "sym_strides", "sym_stride"))
_FIRST_BUFFER = re.compile(r"\d+")


def dispatches(text: bytes) -> bool:
    """Whether a function's text binds a buffer of a Metal kernel or names a matrix result."""
    return _DISPATCHES.search(text) is not None


# -- what a function's text says ---------------------------------------------------------------------------


@dataclass
class Group:
    """The bindings between one pipeline state and the next: buffer index to what is bound there."""

    pipeline: s.Expr | None
    arguments: dict[int, s.Expr] = field(default_factory=dict)


@dataclass
class Encoding:
    """What one function's statements say of its dispatches, whatever the path."""

    function: s.Function
    values: dict[str, list[s.Expr]] = field(default_factory=dict)
    groups: list[tuple[int, Group]] = field(default_factory=list)
    buffers: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, function: s.Function) -> Encoding:
        """Read a function."""
        self = cls(function)
        found: list[tuple[int, s.Call | s.Message]] = []
        for node in walk(function.body):
            if isinstance(node, s.Declare):
                parts = [*(node.arguments or ()), *((node.value,) if node.value is not None else ())]
                self.values.setdefault(node.name, []).extend(parts)
            elif isinstance(node, s.Assign):
                self._set(node.target, [node.value])
            elif isinstance(node, s.Call):
                callee = node.callee
                if isinstance(callee, s.Member) and callee.name in ("push_back", "emplace_back", "insert", "append"):
                    self._set(callee.object, node.arguments)
                elif isinstance(callee, s.Name) and callee.name in BINDERS:
                    found.append((node.start, node))
            elif isinstance(node, s.Message) and node.selector.startswith(
                ("setBuffer:", "setBytes:", "setComputePipelineState:")
            ):
                found.append((node.start, node))
        self._group(sorted(found, key=lambda pair: pair[0]))
        return self

    def _set(self, target: s.Expr, values: list[s.Expr]) -> None:
        while isinstance(target, (s.Index, s.Member, s.Cast, s.Unary)):
            target = target.operand if isinstance(target, (s.Cast, s.Unary)) else target.object
        if isinstance(target, s.Name):
            self.values.setdefault(target.name, []).extend(values)

    def _group(self, found: list[tuple[int, s.Call | s.Message]]) -> None:
        group = Group(None)
        self.groups.append((-1, group))
        for start, node in found:
            if isinstance(node, s.Message) and node.selector == "setComputePipelineState:":
                group = Group(node.arguments[0] if node.arguments else None)
                self.groups.append((start, group))
            else:
                group.arguments.update(bound(node))
        for _, group in self.groups:  # a buffer that a dispatch fills from strides carries them on
            made = {r for expression in group.arguments.values() for r in self.stride_owners(expression)}
            for expression in group.arguments.values():
                if made and isinstance(expression, s.Name) and self._is_scratch(expression.name):
                    self.buffers.setdefault(expression.name, set()).update(made)

    def _is_scratch(self, name: str) -> bool:
        made = [m for value in self.values.get(name, ()) for m in expressions(value) if isinstance(m, s.Message)]
        return any(m.selector.startswith("newBufferWith") for m in made)

    def group_at(self, start: int) -> Group:
        """The group that a binding at an offset belongs to."""
        return [group for place, group in self.groups if place <= start][-1]

    def origins(self, expression: s.Expr) -> set[str]:
        """Every variable an expression is made from."""
        seen: set[str] = set()
        stack = list(names(expression))
        while stack:
            name = stack.pop()
            if name not in seen:
                seen.add(name)
                stack.extend(n for value in self.values.get(name, ()) for n in names(value))
        return seen

    def stride_owners(self, expression: s.Expr) -> set[str]:
        """The variables whose strides, or whose iterator's offsets, an expression is made from."""
        owners: set[str] = set()
        seen: set[str] = set()
        stack: list[s.Expr] = [expression]
        while stack:
            for part in expressions(stack.pop()):
                if isinstance(part, s.Call):
                    callee = part.callee
                    if isinstance(callee, s.Member) and callee.name in _STRIDES:
                        owners |= names(callee.object)
                    elif isinstance(callee, s.Name) and callee.name == "generateKernelDataOffsets":
                        owners |= names(part.arguments)
                elif isinstance(part, s.Name) and part.name not in seen:
                    seen.add(part.name)
                    owners |= self.buffers.get(part.name, set())
                    stack.extend(self.values.get(part.name, ()))
        return owners

    def honours_offset(self, expression: s.Expr) -> bool:
        """Whether the offset of a ``setBuffer:offset:atIndex:`` comes from a storage offset."""
        seen: set[str] = set()
        stack = [expression]
        while stack:
            for part in expressions(stack.pop()):
                if isinstance(part, s.Member) and part.name == "storage_offset":
                    return True
                if isinstance(part, s.Name) and part.name not in seen:
                    seen.add(part.name)
                    stack.extend(self.values.get(part.name, ()))
        return False

    def kernel_names(self, expression: s.Expr | None, depth: int = 0) -> set[str]:
        """The kernel names a pipeline state can be made for, as globs."""
        if expression is None or depth > 8:
            return {"*"}
        if isinstance(expression, s.Literal):
            return {expression.value.lstrip("@").strip('"')} if isinstance(expression.value, str) else {"*"}
        if isinstance(expression, s.Binary) and expression.operator == "+":
            pairs = itertools.product(
                self.kernel_names(expression.left, depth + 1), self.kernel_names(expression.right, depth + 1)
            )
            joined = {re.sub(r"\*+", "*", left + right) for left, right in pairs}
            return joined if len(joined) <= 16 else {"*"}
        if isinstance(expression, s.Conditional):
            return self.kernel_names(expression.then, depth + 1) | self.kernel_names(expression.other, depth + 1)
        if isinstance(expression, s.Name):
            found = [self.kernel_names(v, depth + 1) for v in self.values.get(expression.name, ()) if _is_text(v)]
            return set().union(*found) if found else {"*"}
        if isinstance(expression, (s.Cast, s.Unary)):
            return self.kernel_names(expression.operand, depth + 1)
        if isinstance(expression, s.Call):
            callee = getattr(expression.callee, "name", "")
            if callee == "format" and expression.arguments:
                pattern = self.kernel_names(expression.arguments[0], depth + 1)
                return {re.sub(r"\*+", "*", re.sub(r"\{[^{}]*\}", "*", p)) for p in pattern}
            if isinstance(expression.callee, s.Member) or callee == "string":
                return self.kernel_names(expression.arguments[0], depth + 1) if expression.arguments else {"*"}
            return self._mentioned(expression.arguments, depth)
        if isinstance(expression, s.Message):
            return self._mentioned(expression.arguments, depth)
        return {"*"}

    def _mentioned(self, arguments: list[s.Expr], depth: int) -> set[str]:
        """Of a helper that makes the pipeline state: the strings it is given stand somewhere in the name."""
        kinds = (s.Literal, s.Name, s.Call, s.Message, s.Conditional)
        found = [self.kernel_names(a, depth + 1) for a in arguments if isinstance(a, kinds)]
        known = {f"*{name}*".replace("**", "*") for part in found for name in part if name.strip("*")}
        return known or {"*"}


def _is_text(value: s.Expr) -> bool:
    return not (isinstance(value, s.Name) and value.name in ("nil", "nullptr", "NULL")) and not (
        isinstance(value, s.Literal) and value.value is None
    )


def bound(node: s.Call | s.Message) -> dict[int, s.Expr]:
    """What one binding call puts at which buffer index; indices that are no constants are left out."""
    if isinstance(node, s.Message):
        index = node.arguments[-1] if node.arguments else None
        if isinstance(index, s.Literal) and isinstance(index.value, int):
            return {index.value: node.arguments[0]}
        return {}
    if getattr(node.callee, "name", "") == "mtl_setArgs":
        first = _FIRST_BUFFER.search(node.template)
        return dict(enumerate(node.arguments[1:], int(first.group()) if first else 0))
    if (
        len(node.arguments) >= 3
        and isinstance(node.arguments[2], s.Literal)
        and isinstance(node.arguments[2].value, int)
    ):
        return {node.arguments[2].value: node.arguments[1]}
    return {}


# -- on a path ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Bound:
    """A tensor bound to a buffer index on this path; ``offset`` says whether its storage offset is honoured."""

    tensor: Tensor
    expression: s.Expr
    function: s.Function
    offset: bool
    start: int


@dataclass
class MetalState:
    """What a scan keeps of shaders and functions it has read."""

    encodings: dict[s.Function, Encoding] = field(default_factory=dict)
    kernels: dict[str, tuple[ShaderKernel, ...]] = field(default_factory=dict)
    chosen: dict[Any, tuple[ShaderKernel, ...]] = field(default_factory=dict)
    named: dict[tuple[str, int], str] = field(default_factory=dict)

    def encoding(self, function: s.Function) -> Encoding:
        """The dispatches of a function."""
        if function not in self.encodings:
            self.encodings[function] = Encoding.of(function)
        return self.encodings[function]


def _bind_all(machine: Machine, node: s.Call | s.Message, values: dict[int, Any], offset: bool | None = None) -> None:
    for index, expression in bound(node).items():
        value = values.get(index)
        tensor = value if isinstance(value, Tensor) else value.tensor if isinstance(value, Buffer) else None
        if tensor is None:
            machine.path.bound.pop(index, None)
            continue
        honoured = isinstance(value, Tensor) if offset is None else offset
        machine.path.bound[index] = Bound(tensor, expression, machine.function, honoured, node.start)


def set_arguments(machine: Machine, expression: s.Call) -> Any:
    """``mtl_setArgs<first>(encoder, ...)``, ``mtl_setBuffer(encoder, tensor, index)``."""
    values = {index: machine.value(part) for index, part in bound(expression).items()}
    _bind_all(machine, expression, values)
    return None


def send(machine: Machine, expression: s.Message, values: list[Any]) -> None:
    """A message for which :func:`patchkit.scan.slicing.encodes` holds."""
    selector = expression.selector
    if selector.startswith("dispatchThread"):
        dispatch(machine)
    elif selector.startswith("setBuffer:offset:"):
        index = next(iter(bound(expression)), None)
        if index is not None:
            encoding = machine.metal.encoding(machine.function)
            _bind_all(machine, expression, {index: values[0]}, encoding.honours_offset(expression.arguments[1]))
    else:
        for part, argument, value in zip(selector.split(":"), expression.arguments, values, strict=False):
            if part in RESULTS and isinstance(value, Binding) and value.tensor is not None:
                _write_matrix(machine, argument, value)


def _dispatch(machine: Machine, expression: s.Call) -> Any:
    dispatch(machine)
    return None


def dispatch(machine: Machine) -> None:
    """Run a kernel on what is bound: every tensor it writes is written here."""
    bindings, machine.path.bound = machine.path.bound, {}
    if not bindings:
        return
    last = max(bindings.values(), key=lambda b: b.start)
    kernels = _candidates(machine, last, max(bindings))
    read: list[Tensor] = []
    written: list[tuple[int, Bound]] = []
    followed = any(kernel.stores for kernel in kernels)
    for index, item in sorted(bindings.items()):
        if any(index in k.stores if followed else index in k.writable for k in kernels) or not kernels:
            written.append((index, item))
        else:
            read.append(item.tensor)
            machine.use(item.tensor)
    for index, item in written:
        _write(machine, kernels, index, item, read)


def _candidates(machine: Machine, last: Bound, most: int) -> tuple[ShaderKernel, ...]:
    """The kernel functions that the pipeline state of a dispatch can stand for."""
    state = machine.metal
    files = tuple(dict.fromkeys(frame.function.file for frame in reversed(machine.frames)))
    encoding = state.encoding(last.function)
    group = encoding.group_at(last.start)
    key = (id(last.function), id(group), files)
    if key not in state.chosen:
        wanted = encoding.kernel_names(group.pipeline)
        buffers = 1 + max((*group.arguments, most))
        found: tuple[ShaderKernel, ...] = ()
        for file in (*files, ""):
            if file not in state.kernels:
                state.kernels[file] = _read_kernels(machine, file)
            named = [k for k in state.kernels[file] if not wanted.isdisjoint(k.hosts)]
            named = named or [k for k in state.kernels[file] if any(matches(h, w) for h in k.hosts for w in wanted)]
            exact = tuple(k for k in named if k.buffers == buffers)
            found = exact or tuple(k for k in named if k.buffers > buffers)
            if not found and all(w.strip("*") for w in wanted):
                found = tuple(named)  # more is bound than the kernel takes: that does no harm
            if found:
                break
        state.chosen[key] = found
    return state.chosen[key]


def _read_kernels(machine: Machine, file: str) -> tuple[ShaderKernel, ...]:
    if not file:
        return runtime_kernels(machine.sources.root)
    source = machine.sources.files[file].source.decode("utf-8", "replace")
    return shader_kernels(machine.sources.root, file, source)


def _write(machine: Machine, kernels: tuple[ShaderKernel, ...], index: int, item: Bound, read: list[Tensor]) -> None:
    writers = [kernel for kernel in kernels if index in kernel.stores]
    if not writers and (item.tensor.storage.content not in ("stale", "raw") or item.tensor.base.role == "input"):
        return  # an input, as far as anyone can tell
    if not writers or item.tensor.cell.possible() <= frozenset("C"):
        known = item.tensor.cell.possible() <= (CONTIGUOUS if item.offset else frozenset("CV"))
        named = ", ".join(sorted({k.name for k in writers})) or "a Metal kernel"
        _record(machine, item.tensor, item.expression, item.function, "direct" if known else "unknown", named)
        return
    encoding = machine.metal.encoding(item.function)
    group = encoding.group_at(item.start)
    origins = encoding.origins(item.expression)
    blind = []
    for kernel in writers:
        arguments = [group.arguments[i] for i in kernel.stores[index] if i in group.arguments]
        if not any(encoding.stride_owners(a) & origins for a in arguments):
            blind.append(kernel)
    if not blind:
        kind = "strided"
    elif len(blind) < len(writers):
        kind = "unknown"
    else:
        kind = _place(machine, item.tensor, item.offset, read if all(k.elementwise for k in blind) else None)
    names_of = ", ".join(sorted({k.name for k in blind or writers}))
    _record(machine, item.tensor, item.expression, item.function, kind, names_of)


def _place(machine: Machine, tensor: Tensor, offset: bool, read: list[Tensor] | None) -> str:
    """Where a write that knows no strides lands: ``direct`` where that is the right place, else ``dense``."""
    right = CONTIGUOUS if offset else frozenset("CV")
    if machine.ask(tensor.cell, right):
        return "direct"
    if read is not None and read and _same_order(machine, tensor, read):
        return "direct"
    return "dense"


def _same_order(machine: Machine, tensor: Tensor, read: list[Tensor]) -> bool:
    """Whether an element-wise kernel reads everything densely in the order it writes: then strides do not matter."""
    if not machine.ask(tensor.cell, frozenset("TL")):
        return False
    sources = list({id(t.cell): t for t in read}.values())
    if tensor.base.made_in == "wrapper" and len(sources) == 1 and sources[0].base.role == "input":
        return True  # allocated by the wrapper after the only input: the strides are that input's
    for other in sources:
        same = other.cell is tensor.cell or tensor.cell.follows is other.cell or other.cell.follows is tensor.cell
        last = other.cell.possible() == tensor.cell.possible() == frozenset("L")
        if not same and not last:
            return False
    return True


def _write_matrix(machine: Machine, argument: s.Expr, binding: Binding) -> None:
    """``resultMatrix:`` and its kin: rows one after the other from where the matrix starts in the buffer."""
    tensor = binding.tensor
    assert tensor is not None
    encoding = machine.metal.encoding(machine.function)
    if binding.kind == "strided" or encoding.stride_owners(argument) & encoding.origins(argument):
        kind = "strided"
    else:
        kind = _place(machine, tensor, binding.offset, None)
    _record(machine, tensor, argument, machine.function, kind, "")


def _record(machine: Machine, tensor: Tensor, expression: s.Expr, function: s.Function, kind: str, kernel: str) -> None:
    from patchkit.scan.machine import Event

    place = machine.sources.place
    site = Placeholder(
        tensor,
        Binding(kind, tensor),
        function.file,
        place(function, expression.start),
        place(function, expression.end),
        text_of(function, expression),
        function.name,
    )
    machine.metal.named[site.file, site.start] = kernel
    machine.clock += 1
    machine.path.writes.append(Event(site, machine.clock))
    tensor.storage.content = "scrambled" if kind == "dense" else "result"
    tensor.storage.sites.add((site.file, site.start))
    tensor.storage.written_at = machine.clock


def _iterator_offsets(machine: Machine, expression: s.Call) -> Any:
    return None


#: Calls by name; what they do is known from ``OperationUtils.h``.
FUNCTIONS: dict[str, Callable[[Any, s.Call], Any]] = {
    "mtl_setArgs": set_arguments,
    "mtl_setBuffer": set_arguments,
    "mtl_setBytes": _iterator_offsets,
    "mtl_dispatch1DJob": _dispatch,
    "generateKernelDataOffsets": _iterator_offsets,
}
