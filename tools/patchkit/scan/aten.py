"""What ATen calls mean to a tensor's layout and data: allocation, views, copies, questions about strides.

Rests on ``c10/core/TensorImpl.h`` (contiguity), ``aten/src/ATen/native/TensorFactories.cpp`` (``empty_like`` keeps
dense strides), ``TensorShape.cpp`` (views) and ``Resize.cpp`` (``resize_`` to the same sizes keeps strides).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from patchkit.scan import syntax as s
from patchkit.scan.layout import ALL, CONTIGUOUS, DENSE, Cell, Tensor
from patchkit.scan.values import (
    UNKNOWN,
    Binding,
    Buffer,
    Closure,
    Dictionary,
    Fields,
    Iterator,
    Placeholder,
    Slot,
    Symbol,
    Test,
)

if TYPE_CHECKING:
    from patchkit.scan.machine import Machine

OFFSET = frozenset("OG")
VIEWED = frozenset("VOG")
CHANNELS_LAST = frozenset("L")

#: Allocations that are contiguous unless told otherwise, and whether they come filled.
ALLOCATES = {
    "empty": "raw", "empty_mps": "raw", "empty_cpu": "raw", "new_empty": "raw", "empty_strided": "raw",
    "empty_strided_mps": "raw", "zeros": "data", "ones": "data", "full": "data", "new_zeros": "data",
    "new_ones": "data", "new_full": "data", "arange": "data", "rand": "data", "randn": "data", "eye": "data",
    "scalar_tensor": "data", "tensor": "data", "linspace": "data", "randint": "data", "randperm": "data",
    "wrapped_scalar_tensor": "data", "wrapped_scalar_tensor_mps": "data", "scalar_to_tensor": "data",
}  # fmt: skip
LIKE = {
    "empty_like": "raw", "zeros_like": "data", "ones_like": "data", "full_like": "data", "rand_like": "data",
    "randn_like": "data", "empty_symint_like": "raw",
}  # fmt: skip
SAME_VIEWS = frozenset(
    ("view", "view_as", "squeeze", "unsqueeze", "alias", "detach", "flatten", "unflatten", "reshape", "reshape_as",
     "_reshape_alias", "variable_data", "tensor_data", "data", "view_symint", "_unsafe_view", "resolve_conj",
     "resolve_neg", "conj", "view_as_real", "view_as_complex", "squeeze_multiple")
)  # fmt: skip
OTHER_VIEWS = frozenset(
    ("permute", "transpose", "t", "mT", "mH", "select", "slice", "narrow", "expand", "expand_as", "as_strided",
     "diagonal", "movedim", "moveaxis", "swapaxes", "swapdims", "unfold", "T", "numpy_T", "adjoint", "broadcast_to",
     "_conj", "select_symint", "slice_symint", "as_strided_symint")
)  # fmt: skip
CHECKS = re.compile(r"TORCH_CHECK|TORCH_INTERNAL_ASSERT|^assert$|^NSAssert|^AT_ASSERT|^NSCAssert")
_FORMATS = {
    "Contiguous": "contiguous", "Preserve": "preserve", "ChannelsLast": "channels_last",
    "ChannelsLast3d": "channels_last", "LEGACY_CONTIGUOUS_MEMORY_FORMAT": "contiguous",
}  # fmt: skip


def layout_is(tensor: Tensor, atoms: frozenset[str]) -> Any:
    """The condition that a tensor's layout is one of ``atoms``, decided where that is already known."""
    possible = tensor.cell.possible()
    if possible <= atoms:
        return True
    if not possible & atoms:
        return False
    return Test("layout", (tensor, atoms))


# -- memory formats and allocation -----------------------------------------------------------------------


def memory_format(machine: Machine, values: list[Any]) -> str | None:
    """The memory format among argument values, or None where none is given."""
    for value in values:
        if not isinstance(value, Symbol):
            continue
        key = value.key
        if key[0] == "constant" and key[2] in _FORMATS and (key[1] in ("MemoryFormat", "") or "FORMAT" in key[2]):
            return _FORMATS[key[2]]
        if key[0] == "suggest":
            return "channels_last" if machine.ask(value.tensors[0].cell, CHANNELS_LAST) else "contiguous"
        if key[0] == "options" and len(key) > 1 and key[1] is not None:
            if key[1] == "suggest":
                return "channels_last" if machine.ask(value.tensors[0].cell, CHANNELS_LAST) else "contiguous"
            return str(key[1])
    return None


def allocate(machine: Machine, name: str, values: list[Any], position: int) -> Tensor:
    """``at::empty(sizes, ..., memory_format)`` and its kin."""
    from patchkit.scan.machine import PathEnd

    form = memory_format(machine, values)
    sizes = values[0] if values else None
    rank = len(sizes.items) if isinstance(sizes, Dictionary) else None
    if form == "channels_last" and rank is not None and rank not in (4, 5):
        raise PathEnd  # empty() refuses channels_last for any other rank
    atoms = CHANNELS_LAST if form == "channels_last" else frozenset("C")
    if "strided" in name:
        atoms = frozenset("CTL")
    tensor = machine.fresh(f"at::{name}(...)", atoms, ALLOCATES[name], position=position)
    tensor.cell.rank = rank
    if isinstance(sizes, Dictionary) and sizes.items == [0]:
        tensor.emptied = True
    if isinstance(sizes, Symbol) and sizes.tensors:
        tensor.shaped_after = sizes.tensors[0]
    for value in values[1:]:
        if isinstance(value, Symbol) and value.tensors and value.key[0] in ("options", "scalar_type"):
            tensor.typed_after = value.tensors[0]
            break
    return tensor


def allocate_like(machine: Machine, name: str, values: list[Any], position: int) -> Any:
    """``at::empty_like(x, ..., memory_format)``: preserves dense strides unless a format is given."""
    source = values[0] if values else None
    if not isinstance(source, Tensor):
        return Symbol(("call", name, position))
    form = memory_format(machine, values[1:])
    tensor = machine.fresh(f"at::{name}({source.name})", frozenset("C"), LIKE[name], position=position)
    if form in (None, "preserve"):
        tensor.cell = Cell(frozenset("C"), follows=source.cell)
    elif form == "channels_last":
        tensor.cell = Cell(CHANNELS_LAST)
    tensor.source = tensor.shaped_after = source
    typed = [v for v in values[1:] if isinstance(v, Symbol) and v.key[0] in ("options", "scalar_type") and v.tensors]
    tensor.typed_after = typed[0].tensors[0] if typed else source
    return tensor


def copy(machine: Machine, target: Any, source: Any, position: int) -> Any:
    """``target.copy_(source)``: the data moves, strides of both are honoured."""
    if not isinstance(target, Tensor):
        return target
    if isinstance(source, Tensor):
        machine.use(source)
        machine.path.copies.append((target, source, machine.function.file, position))
        if source.storage is target.storage:
            return target
        target.storage.content = source.storage.content if source.storage.content != "stale" else "data"
        target.storage.sites = set(source.storage.sites)
    else:
        target.storage.content = "data"
    machine.clock += 1
    target.storage.written_at = machine.clock
    return target


def write(machine: Machine, tensor: Any) -> None:
    """Note that something other than a graph wrote a tensor in full, strides honoured."""
    if isinstance(tensor, Tensor):
        tensor.storage.content = "data"
        machine.use(tensor)
        machine.clock += 1
        tensor.storage.written_at = machine.clock


# -- methods ---------------------------------------------------------------------------------------------


def call_method(machine: Machine, owner: Any, name: str, expression: s.Call) -> Any:
    """Run ``owner.name(arguments)``."""
    if isinstance(owner, Tensor):
        return _tensor_method(machine, owner, name, expression)
    values = [machine.value(a) for a in expression.arguments]
    _run_closures(machine, values)
    if isinstance(owner, Placeholder):
        return owner if name == "getMPSGraphTensorData" else Symbol(("placeholder", name, id(owner)))
    if isinstance(owner, Dictionary):
        return _container_method(machine, owner, name, values)
    if isinstance(owner, Iterator):
        return _iterator_method(owner, name, values)
    if isinstance(owner, Buffer):
        return owner
    if isinstance(owner, Closure):
        return machine.apply(owner, values)
    if owner is None:
        if name in ("has_value", "defined", "empty"):
            return name == "empty"
        return values[0] if name == "value_or" and values else UNKNOWN
    if isinstance(owner, Fields):
        return UNKNOWN
    from patchkit.scan.machine import key_of

    if name == "executeMPSGraph" and len(values) >= 3:
        from patchkit.scan import apple

        apple.run_graph(machine, values[1], values[2], expression.start)
        return None
    if isinstance(owner, Symbol):
        if owner.key[0] == "options" and name == "memory_format" and values:
            return _options_format(owner, values[0])
        if owner.key[0] == "options":
            return Symbol(owner.key, tuple(t for v in values for t in _tensors(v)) or owner.tensors)
        if name in ("value", "get", "value_or") and owner.key[0] in ("parameter", "default"):
            return owner
        if name == "equals" and values:
            return Test("unknown", ("equals", owner.key, key_of(values[0])))
    keys = tuple(key_of(v) for v in values)
    return Symbol(("method", key_of(owner), name, keys), tuple(t for v in (owner, *values) for t in _tensors(v)))


def _tensors(value: Any) -> tuple[Tensor, ...]:
    if isinstance(value, Tensor):
        return (value,)
    return value.tensors if isinstance(value, Symbol) else ()


def _options_format(owner: Symbol, given: Any) -> Symbol:
    if isinstance(given, Symbol) and given.key[0] == "suggest":
        return Symbol(("options", "suggest"), given.tensors)
    if isinstance(given, Symbol) and given.key[0] == "constant":
        return Symbol(("options", _FORMATS.get(given.key[2])), owner.tensors)
    return owner


def _container_method(machine: Machine, owner: Dictionary, name: str, values: list[Any]) -> Any:
    if name in ("push_back", "emplace_back", "append", "add"):
        owner.items.extend(values)
        return None
    if name in ("front", "value", "at", "operator[]") or name == "back":
        if values and isinstance(values[0], int) and values[0] < len(owner.items):
            return owner.items[values[0]]
        return (owner.items[-1] if name == "back" else owner.items[0]) if owner.items else UNKNOWN
    if name == "empty":
        return not owner.items if owner.items else Test("unknown", ("empty", id(owner)))
    if name in ("size", "count") and owner.items:
        return len(owner.items)
    if name in ("data", "begin", "vec", "toVec", "copy"):
        return owner
    return Symbol(("container", name, id(owner)))


def _iterator_method(owner: Iterator, name: str, values: list[Any]) -> Any:
    place = values[0] if values and isinstance(values[0], int) else 0
    both = [*owner.outputs, *owner.inputs]
    if name in ("output", "output_base"):
        return owner.outputs[place] if place < len(owner.outputs) else UNKNOWN
    if name in ("input", "input_base"):
        return owner.inputs[place] if place < len(owner.inputs) else UNKNOWN
    if name in ("tensor", "tensor_base"):
        return both[place] if place < len(both) else UNKNOWN
    if name == "numel":
        return Symbol(("numel", id(owner)))
    if name == "is_contiguous":
        return Test("and", tuple(layout_is(t, CONTIGUOUS) for t in (both[0], both[-1]))) if both else UNKNOWN
    return Symbol(("iterator", id(owner), name, tuple(v if isinstance(v, (int, str)) else id(v) for v in values)))


def _tensor_method(machine: Machine, owner: Tensor, name: str, expression: s.Call) -> Any:
    known = _METHODS.get(name)
    if known is not None:
        return known(machine, owner, [machine.value(a) for a in expression.arguments], expression)
    values = [machine.value(a) for a in expression.arguments]
    if name in SAME_VIEWS:
        return machine.view(owner, f"{owner.name}.{name}()")
    if name in OTHER_VIEWS:
        return machine.view(owner, f"{owner.name}.{name}()", same_layout=False)
    if name in ALLOCATES:
        return allocate(machine, name, values, expression.start)
    if name.endswith("_") and not name.endswith("__"):
        write(machine, owner)
        return owner
    from patchkit.scan.machine import key_of

    machine.use(owner)
    for value in values:
        machine.use(value)
    return Symbol(("method", ("tensor", owner.key), name, tuple(key_of(v) for v in values)), (owner,))


def _is_contiguous(machine: Machine, owner: Tensor, values: list[Any], _: s.Call) -> Any:
    for value in values:
        suggested = value.tensors[:1] if isinstance(value, Symbol) and value.key[0] == "suggest" else ()
        if suggested and suggested[0].cell is owner.cell:
            return layout_is(owner, CONTIGUOUS | CHANNELS_LAST)
        form = memory_format(machine, [value])
        if form == "channels_last":
            return layout_is(owner, CHANNELS_LAST)
    return layout_is(owner, CONTIGUOUS)


def _is_view(machine: Machine, owner: Tensor, values: list[Any], _: s.Call) -> Any:
    if owner.is_view is not None:
        return owner.is_view
    sure = layout_is(owner, VIEWED)
    if sure is True:
        return True
    maybe = layout_is(owner, frozenset("TL"))
    if maybe is False:
        return sure
    return Test("or", (sure, Test("and", (maybe, Test("unknown", ("is_view", owner.key))))))


def _storage_offset(machine: Machine, owner: Tensor, values: list[Any], _: s.Call) -> Any:
    answer = layout_is(owner, OFFSET)
    return (
        0
        if answer is False
        else Test("layout", (owner, OFFSET))
        if answer is not True
        else Symbol(("offset", owner.key))
    )


def _defined(machine: Machine, owner: Tensor, values: list[Any], _: s.Call) -> Any:
    if owner.defined is not None:
        return owner.defined
    return Test("unknown", ("defined", owner.base.key))


def _contiguous(machine: Machine, owner: Tensor, values: list[Any], expression: s.Call) -> Any:
    form = memory_format(machine, values)
    if form == "channels_last":
        if machine.ask(owner.cell, CHANNELS_LAST):
            return owner
        return _copied(machine, owner, CHANNELS_LAST, expression)
    if form is None and owner.role == "input" and owner.storage.content == "data":
        return _copied(machine, owner, frozenset("C"), expression)
    if machine.ask(owner.cell, CONTIGUOUS):
        return owner
    return _copied(machine, owner, frozenset("C"), expression)


def _copied(machine: Machine, owner: Tensor, atoms: frozenset[str], expression: s.Call) -> Tensor:
    content = "raw" if owner.storage.content == "stale" else owner.storage.content
    tensor = machine.fresh(f"{owner.name}.contiguous()", atoms, content, position=expression.start)
    tensor.source = tensor.shaped_after = tensor.typed_after = owner
    tensor.storage.sites = set(owner.storage.sites)
    machine.use(owner)
    return tensor


def _clone(machine: Machine, owner: Tensor, values: list[Any], expression: s.Call) -> Any:
    tensor = _copied(machine, owner, frozenset("C"), expression)
    tensor.name = f"{owner.name}.clone()"
    form = memory_format(machine, values)
    if form in (None, "preserve"):
        tensor.cell = Cell(frozenset("C"), follows=owner.cell)
    elif form == "channels_last":
        tensor.cell = Cell(CHANNELS_LAST)
    return tensor


def _to(machine: Machine, owner: Tensor, values: list[Any], expression: s.Call) -> Any:
    form = memory_format(machine, values)
    if form == "channels_last" or form == "contiguous":
        return _contiguous(machine, owner, values, expression)
    if owner.role == "output":
        return owner  # an output already has the dtype and device that its kernel asks for
    tensor = _copied(machine, owner, frozenset("C"), expression)
    tensor.name = f"{owner.name}.to(...)"
    tensor.cell = Cell(frozenset("C"), follows=owner.cell)
    if values and isinstance(values[0], Symbol) and values[0].tensors:
        tensor.typed_after = values[0].tensors[0]
    else:
        tensor.typed_after = None
    return tensor


def _copy(machine: Machine, owner: Tensor, values: list[Any], expression: s.Call) -> Any:
    return copy(machine, owner, values[0] if values else UNKNOWN, expression.start)


def _resize(machine: Machine, owner: Tensor, values: list[Any], expression: s.Call) -> Any:
    if values and isinstance(values[0], Dictionary) and owner.cell.follows is None:
        rank = len(values[0].items)
        if rank == 0:
            owner.cell.atoms = owner.cell.atoms & CONTIGUOUS or frozenset("C")  # resize_({}): 0-dim from here on
        elif rank not in (4, 5):
            owner.cell.atoms = owner.cell.atoms - CHANNELS_LAST or frozenset("C")
        owner.cell.rank = rank
    return owner


def _restride(machine: Machine, owner: Tensor, values: list[Any], expression: s.Call) -> Any:
    """``empty_tensor_restride(format)``: the handle gets new strides; storage, offset and its other views stay."""
    form = memory_format(machine, values)
    cell = owner.cell
    target = CHANNELS_LAST if form == "channels_last" else frozenset("C")
    if owner.base.role != "output":
        if owner.base.role == "input" and not cell.possible() <= target | frozenset("CVO"):
            machine.path.restrided.append((owner.base, cell.possible(), machine.function.file, expression.start))
        cell.follows, cell.atoms = None, target
        return owner
    if cell.possible() <= target or not machine.ask(cell, frozenset("CTL") - target):
        return owner  # what has an offset or gaps keeps them: the new strides run over memory that is not its own
    machine.path.restrided.append((owner.base, cell.possible(), machine.function.file, expression.start))
    cell.follows, cell.atoms = None, target
    return owner


def _set(machine: Machine, owner: Tensor, values: list[Any], _: s.Call) -> Any:
    if values and isinstance(values[0], Tensor):
        owner.storage = values[0].storage
        owner.cell = values[0].cell
        machine.use(values[0])
    return owner


def _is_same(machine: Machine, owner: Tensor, values: list[Any], _: s.Call) -> Any:
    other = values[0] if values else None
    return isinstance(other, Tensor) and other.base is owner.base


def _is_alias(machine: Machine, owner: Tensor, values: list[Any], _: s.Call) -> Any:
    other = values[0] if values else None
    if isinstance(other, Tensor):
        return other.storage is owner.storage
    return Test("unknown", ("alias", owner.key))


def _described(what: str) -> Callable[[Machine, Tensor, list[Any], s.Call], Any]:
    def describe(machine: Machine, owner: Tensor, values: list[Any], _: s.Call) -> Any:
        from patchkit.scan.machine import key_of

        return Symbol((what, owner.base.key, *(key_of(v) for v in values)), (owner,))

    return describe


def _identity(machine: Machine, owner: Tensor, values: list[Any], _: s.Call) -> Any:
    return owner


def _storage(machine: Machine, owner: Tensor, values: list[Any], _: s.Call) -> Any:
    return Buffer(owner.storage, owner)


def _true(machine: Machine, owner: Tensor, values: list[Any], _: s.Call) -> Any:
    return True


def _options(machine: Machine, owner: Tensor, values: list[Any], _: s.Call) -> Any:
    return Symbol(("options", None), (owner,))


def _has_storage(machine: Machine, owner: Tensor, values: list[Any], _: s.Call) -> Any:
    return owner.defined if owner.defined is not None else Test("unknown", ("defined", owner.base.key))


_METHODS: dict[str, Callable[[Any, Tensor, list[Any], s.Call], Any]] = {
    "is_contiguous": _is_contiguous,
    "is_view": _is_view,
    "storage_offset": _storage_offset,
    "defined": _defined,
    "has_value": _defined,
    "has_storage": _has_storage,
    "contiguous": _contiguous,
    "expect_contiguous": _contiguous,
    "clone": _clone,
    "to": _to,
    "copy_": _copy,
    "resize_": _resize,
    "resize_as_": _resize,
    "empty_tensor_restride": _restride,
    "set_": _set,
    "is_same": _is_same,
    "is_alias_of": _is_alias,
    "numel": _described("numel"),
    "dim": _described("dim"),
    "ndimension": _described("dim"),
    "sizes": _described("sizes"),
    "sym_sizes": _described("sizes"),
    "size": _described("size"),
    "strides": _described("strides"),
    "stride": _described("stride"),
    "scalar_type": _described("scalar_type"),
    "dtype": _described("scalar_type"),
    "device": _described("device"),
    "element_size": _described("element_size"),
    "itemsize": _described("element_size"),
    "suggest_memory_format": _described("suggest"),
    "options": _options,
    "is_mps": _true,
    "storage": _storage,
    "data_ptr": _storage,
    "const_data_ptr": _storage,
    "mutable_data_ptr": _storage,
    "is_non_overlapping_and_dense": lambda m, o, v, e: layout_is(o, DENSE),
    "unsafeGetTensorImpl": _identity,
    "getIntrusivePtr": _identity,
    "value": _identity,
    "get": _identity,
    "value_or": _identity,
    "requires_grad_": _identity,
    "set_requires_grad": _identity,
}


# -- comparisons -------------------------------------------------------------------------------------------


def compare(machine: Machine, operator: str, left: Any, right: Any) -> Any:
    """Comparisons whose answer the layout decides, or that only an empty tensor makes true; else None."""
    if (
        isinstance(right, Symbol)
        and right.key[0] in ("numel", "suggest")
        and not (isinstance(left, Symbol) and left.key[0] in ("numel", "suggest"))
    ):
        left, right = right, left
        operator = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(operator, operator)
    if isinstance(left, Test) and left.kind == "layout" and isinstance(right, int) and right == 0:
        if operator in ("!=", ">"):
            return left
        if operator in ("==", "<="):
            return Test("not", (left,))
    if isinstance(left, Symbol) and left.key[0] == "offset" and right == 0:
        return operator in ("!=", ">")
    if not isinstance(left, Symbol):
        return None
    if left.key[0] == "numel" and isinstance(right, int):
        if right == 0:
            return operator in ("!=", ">", ">=")
        if right == 1 and operator in ("<", ">="):
            return operator == ">="
    if left.key[0] == "dim" and left.tensors and isinstance(right, int) and operator in ("==", "!="):
        test = Test("rank", (left.tensors[0], right))
        return test if operator == "==" else Test("not", (test,))
    if left.key[0] == "suggest" and isinstance(right, Symbol) and right.key[0] == "constant":
        form = _FORMATS.get(right.key[2])
        if form in ("channels_last", "contiguous"):
            is_last = layout_is(left.tensors[0], CHANNELS_LAST)
            wanted = (form == "channels_last") == (operator == "==")
            if isinstance(is_last, bool):
                return is_last == wanted
            return is_last if wanted else Test("not", (is_last,))
    return None


# -- free functions ----------------------------------------------------------------------------------------


def _run_closures(machine: Machine, values: list[Any]) -> None:
    for value in values:
        if isinstance(value, Closure) and value.code.relevant:
            machine.apply(value, [])


_MACOS = re.compile(r"mac_?os", re.IGNORECASE)
_VERSION = re.compile(r"(?<!\d)(1[0-9]|2[0-9])(?!\d)")


def call_unknown(machine: Machine, callee: s.Name, expression: s.Call) -> Any:
    """Run a call of a function that is not in the MPS sources, from what its name says in ATen's conventions."""
    name = callee.name
    if CHECKS.search(name):
        return _check(machine, expression)
    if _MACOS.search(name):
        return _macos(expression, name)
    if name in ALLOCATES or name in LIKE:
        values = [machine.value(a) for a in expression.arguments]
        return (allocate_like if name in LIKE else allocate)(machine, name, values, expression.start)
    values = [machine.value(a) for a in expression.arguments]
    _run_closures(machine, values)
    from patchkit.scan.machine import key_of

    flat = [t for v in values for t in _flatten(v)]
    for tensor in flat:
        machine.use(tensor)
    if name.endswith(("_out", "_outf", "_out_symint")) and flat:
        outputs = [t for t in flat if t.role == "output" or t.storage.content in ("raw", "stale")]
        first = [values[0]] if isinstance(values[0], Tensor) else []
        for tensor in first or outputs:
            write(machine, tensor)
        return first[0] if first else outputs[0] if outputs else UNKNOWN
    if name.endswith("_stub"):
        for value in values:
            for tensor in value.outputs if isinstance(value, Iterator) else ():
                write(machine, tensor)
        if flat:
            write(machine, flat[0])
        return None
    if name.endswith("_") and isinstance(values[0] if values else None, Tensor):
        write(machine, values[0])
        return values[0]
    if name in SAME_VIEWS and values and isinstance(values[0], Tensor):
        return machine.view(values[0], f"{values[0].name}.{name}()")
    if name in OTHER_VIEWS and values and isinstance(values[0], Tensor):
        return machine.view(values[0], f"{values[0].name}.{name}()", same_layout=False)
    return Symbol(("call", name, tuple(key_of(v) for v in values)), tuple(flat))


def _flatten(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Dictionary):
        return [t for i in value.items for t in _flatten(i)]
    return []


def _check(machine: Machine, expression: s.Call) -> Any:
    from patchkit.scan.machine import PathEnd

    name = getattr(expression.callee, "name", "")
    if "DEBUG_ONLY" in name or not expression.arguments:
        return None
    if not machine.truth(machine.value(expression.arguments[0])):
        raise PathEnd
    return None


def _macos(expression: s.Call, name: str) -> Any:
    for argument in expression.arguments:
        text = getattr(argument, "name", "") or str(getattr(argument, "value", "")) or getattr(argument, "text", "")
        if found := _VERSION.search(text.replace("_", " ")):
            return Test("macos", (int(found.group()),))
    if found := _VERSION.search(name.replace("_", " ")):
        return Test("macos", (int(found.group()),))
    return Test("unknown", ("macos", name))


def _first(machine: Machine, expression: s.Call) -> Any:
    values = [machine.argument(a) for a in expression.arguments]
    first = values[0] if values else UNKNOWN
    return first.value if isinstance(first, Slot) else first


def _tuple(machine: Machine, expression: s.Call) -> Any:
    return Dictionary([machine.value(a) for a in expression.arguments])


def _views(machine: Machine, expression: s.Call) -> Any:
    values = [machine.value(a) for a in expression.arguments]
    tensors = [v for v in values if isinstance(v, Tensor)]
    views = [machine.view(t, t.name, same_layout=False) for t in tensors]
    return views[0] if len(views) == 1 else Dictionary(list(views))


def _nothing(machine: Machine, expression: s.Call) -> Any:
    return None


def _mps_copy(machine: Machine, expression: s.Call) -> Any:
    values = [machine.value(a) for a in expression.arguments]
    return copy(machine, values[0], values[1], expression.start) if len(values) >= 2 else UNKNOWN


def _copy_from(machine: Machine, expression: s.Call) -> Any:
    values = [machine.value(a) for a in expression.arguments]
    return copy(machine, values[1], values[0], expression.start) if len(values) >= 2 else UNKNOWN


#: Calls by name; each is an ATen or C++ primitive, never a kernel.
FUNCTIONS: dict[str, Callable[[Any, s.Call], Any]] = {
    "borrow_from_optional_tensor": _first,
    "borrowed": _first,
    "owned": _first,
    "make_tuple": _tuple,
    "tuple": _tuple,
    "tie": _tuple,
    "make_pair": _tuple,
    "pair": _tuple,
    "make_optional": _first,
    "TensorArg": _first,
    "OptionalTensorRef": _first,
    "expand_size": _views,
    "expand_outplace": _views,
    "expand_inplace": _views,
    "resize_output": _nothing,
    "resize_tensor": _nothing,
    "at_resize_tensor": _nothing,
    "mps_copy_": _mps_copy,
    "_copy_from": _copy_from,
    "_copy_from_and_resize": _copy_from,
}
_ = (ALL, Binding)
