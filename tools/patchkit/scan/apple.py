"""What Metal, MPSGraph and the Placeholder mean: which memory a graph result is written to.

The Placeholder's behaviour is not taken from a table of versions. The tree's own constructor is run, once for each
layout, macOS side and combination of its two flags, and what its data object ends up wrapping is the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from patchkit.scan import metal
from patchkit.scan import syntax as s
from patchkit.scan.layout import Tensor
from patchkit.scan.slicing import encodes
from patchkit.scan.values import (
    UNKNOWN,
    Binding,
    Buffer,
    Closure,
    Dictionary,
    Fields,
    Placeholder,
    Slot,
    Symbol,
)
from patchkit.scan.walk import text_of

if TYPE_CHECKING:
    from patchkit.scan.machine import Machine


# -- Placeholders ----------------------------------------------------------------------------------------


def construct_placeholder(machine: Machine, arguments: list[s.Expr], start: int, end: int) -> Placeholder:
    """Evaluate ``Placeholder(graphTensor, tensor, shape, gatherTensorData, dataType, useMPSStridedAPI)``."""
    function = machine.function
    values = [machine.value(a) for a in arguments[1:]]
    target = arguments[1] if len(arguments) > 1 else None
    if target is None:
        return Placeholder(None, None)
    place = machine.sources.place
    placeholder = Placeholder(
        None,
        None,
        function.file,
        place(function, target.start),
        place(function, target.end),
        text_of(function, target),
    )
    placeholder.function = function.name
    given = values[0]
    if isinstance(given, Binding):
        placeholder.binding, placeholder.tensor = given, given.tensor
    elif isinstance(given, Tensor):
        placeholder.tensor = given
        placeholder.flags = tuple(values[1:])
    else:
        placeholder.unknown = f"the tensor handed to the Placeholder is not followed: {placeholder.text}"
    machine.path.built.append(placeholder)
    return placeholder


def _bind(machine: Machine, tensor: Tensor, flags: tuple[Any, ...]) -> Binding | None:
    """What a result Placeholder writes to; asked only of results, for an input it makes no difference."""
    constructor = placeholder_constructor(machine)
    if constructor is None:
        return None
    gather, strided = _flags(machine, constructor, flags)
    outcomes: dict[str, set[str]] = {}
    for atom in tensor.cell.possible():
        outcomes.setdefault(_outcome(machine, atom, gather, strided), set()).add(atom)
    for kind in sorted(outcomes)[:-1]:
        if machine.ask(tensor.cell, frozenset(outcomes[kind])):
            return _settle(machine, kind, tensor)
    return _settle(machine, sorted(outcomes)[-1], tensor)


def _settle(machine: Machine, kind: str, tensor: Tensor) -> Binding:
    old, _, new = kind.partition("/")
    if new and old != new and machine.ask_macos(True):
        return Binding(new, tensor)
    return Binding(old, tensor)


def _flags(machine: Machine, constructor: s.Function, values: tuple[Any, ...]) -> tuple[bool, bool]:
    """The gather and strided flags of a call, by the position of the constructor's ``bool`` parameters."""
    places = [i - 2 for i, p in enumerate(constructor.parameters) if p.type.replace("const ", "").strip() == "bool"]
    answers = []
    for order in range(2):
        if order >= len(places) or places[order] >= len(values):
            answers.append(True)
        else:
            value = values[places[order]]
            answers.append(machine.truth(value) if value is not UNKNOWN else True)
    return answers[0], answers[1]


def placeholder_constructor(machine: Machine) -> s.Function | None:
    """The tree's ``Placeholder(MPSGraphTensor*, const Tensor&, ...)``."""
    for function in machine.sources.functions.get("Placeholder", []):
        if (
            function.scope == "Placeholder"
            and len(function.parameters) >= 2
            and "Tensor" in function.parameters[1].type
        ):
            return function
    return None


def _outcome(machine: Machine, atom: str, gather: bool, strided: bool) -> str:
    """What the constructor does with a layout: ``old/new`` for macOS before 15 and from 15 on."""
    key = (atom, gather, strided)
    table: dict[Any, str] = machine.__dict__.setdefault("_placeholder_outcomes", {})
    if key not in table:
        table[key] = "/".join(_run_constructor(machine, atom, gather, strided, side) for side in ("<15", ">=15"))
    return table[key]


def _run_constructor(machine: Machine, atom: str, gather: bool, strided: bool, side: str) -> str:
    from patchkit.scan.machine import Machine as Kind
    from patchkit.scan.machine import Path

    constructor = placeholder_constructor(machine)
    assert constructor is not None
    inner = Kind(machine.sources, known=machine)
    kinds: set[str] = set()

    def run() -> Path:
        inner.path.macos = frozenset((side,))
        tensor = inner.tensor("src", "output", frozenset(atom), "stale", is_view=None)
        arguments: list[Any] = [UNKNOWN, tensor]
        answers = iter((gather, strided))
        for parameter in constructor.parameters[2:]:
            if parameter.type.replace("const ", "").strip() == "bool":
                arguments.append(next(answers))
            elif "MPSShape" in parameter.type:
                arguments.append(None)
            else:
                arguments.append(Symbol(("constant", "", "MPSDataTypeInvalid")))
        this = Fields("Placeholder")
        inner.call(constructor, arguments, this)
        slot = this.fields.get("_value")
        value = slot.value if slot is not None else None
        if isinstance(value, Binding) and value.tensor is not None:
            if value.tensor.storage is not tensor.storage:
                kinds.add("temporary")
            elif value.kind == "strided" or atom in "CV" or (value.offset and atom == "O"):
                kinds.add("direct")
            else:
                kinds.add("dense")
        return inner.path

    # the constructor's frame needs somewhere to stand
    inner_paths = inner.paths(run)
    if not inner_paths or not kinds:
        return "raises" if not inner_paths else "unknown"
    for worst in ("temporary", "dense", "direct"):
        if worst in kinds:
            return worst
    return "unknown"


# -- runs ------------------------------------------------------------------------------------------------


def run_graph(machine: Machine, feeds: Any, results: Any, position: int = -1) -> None:
    """Run a graph: every result goes where its data object points."""
    from patchkit.scan.machine import Event

    fed = _placeholders(feeds)
    for placeholder in fed:
        if placeholder.tensor is not None:
            machine.use(placeholder.tensor)
    for placeholder in _placeholders(results):
        machine.clock += 1
        function = machine.function
        where = machine.sources.place(function, position) if position >= 0 else -1
        machine.path.events.append(Event(placeholder, machine.clock, function.file, where))
        tensor = placeholder.tensor
        if tensor is not None and placeholder.binding is None:
            placeholder.binding = _bind(machine, tensor, placeholder.flags)
        binding = placeholder.binding
        site = (placeholder.file, placeholder.start)
        if tensor is None or binding is None:
            continue
        if binding.kind == "dense" and _lands_right(machine, tensor, binding, placeholder.flags, fed):
            binding = placeholder.binding = Binding("direct", tensor)
        if binding.kind in ("direct", "strided", "dense"):
            tensor.storage.content = "scrambled" if binding.kind == "dense" else "result"
            tensor.storage.sites.add(site)
            tensor.storage.written_at = machine.clock


def _lands_right(
    machine: Machine, tensor: Tensor, binding: Binding, flags: tuple[Any, ...], fed: list[Placeholder]
) -> bool:
    """Whether a dense write puts every element of this tensor where it belongs."""
    if binding.array and machine.ask(tensor.cell, _fits_array(binding)):
        return True
    return _same_dense_order(machine, tensor, flags, fed)


def _fits_array(binding: Binding) -> frozenset[str]:
    """Layouts that an ``MPSNDArray`` over a tensor's buffer describes: its shape is given in memory order."""
    return frozenset("CVLO") if binding.offset else frozenset("CVL")


def _same_dense_order(machine: Machine, tensor: Tensor, flags: tuple[Any, ...], fed: list[Placeholder]) -> bool:
    """Whether everything fed is read densely in the order the result is written in.

    With gathering off on both sides an element-wise graph never sees strides: a result in the same dense layout
    as its inputs is right. What is fed gathered must come with a shape of its own, as must the result: then the
    kernel states the order itself.
    """
    if not tensor.cell.possible() <= frozenset("TL"):
        return False
    constructor = placeholder_constructor(machine)
    shaped = bool(flags) and flags[0] is not None
    alike = False
    for placeholder in fed:
        other = placeholder.tensor
        if other is None or constructor is None:
            continue  # an optional input that this caller leaves out
        if _flags(machine, constructor, placeholder.flags)[0]:
            if not (shaped and placeholder.flags and placeholder.flags[0] is not None):
                return False
            continue
        same = other.cell is tensor.cell or tensor.cell.follows is other.cell or other.cell.follows is tensor.cell
        both_last = other.cell.possible() == tensor.cell.possible() == frozenset("L")
        if not same and not both_last:
            return False
        alike = True
    return alike


def _placeholders(value: Any) -> list[Placeholder]:
    if isinstance(value, Placeholder):
        return [value]
    if isinstance(value, Dictionary):
        return [p for item in value.items for p in _placeholders(item)]
    return []


def _run_mps_graph(machine: Machine, expression: s.Call) -> Any:
    values = [machine.value(a) for a in expression.arguments]
    if len(values) >= 4:
        run_graph(machine, values[2], values[3], expression.start)
    return None


def _from_placeholders(machine: Machine, expression: s.Call) -> Any:
    return Dictionary([machine.value(a) for a in expression.arguments])


def _gather(machine: Machine, expression: s.Call) -> Any:
    values = [machine.value(a) for a in expression.arguments]
    source = values[0] if values else None
    tensor = machine.fresh("gathered copy", content="data", position=expression.start)
    if isinstance(source, Tensor):
        machine.use(source)
        tensor.source = source
    return tensor


def _scatter(machine: Machine, expression: s.Call) -> Any:
    from patchkit.scan import aten

    values = [machine.value(a) for a in expression.arguments]
    if len(values) >= 2:
        return aten.copy(machine, values[1], values[0], expression.start)
    return UNKNOWN


#: Calls by name; each is a primitive of the MPS backend's own runtime, never a kernel.
FUNCTIONS: dict[str, Callable[[Any, s.Call], Any]] = {
    "runMPSGraph": _run_mps_graph,
    "dictionaryFromPlaceholders": _from_placeholders,
    "gatherViewTensor": _gather,
    "scatterViewTensor": _scatter,
}


# -- messages --------------------------------------------------------------------------------------------


def send(machine: Machine, expression: s.Message) -> Any:
    """Evaluate an Objective-C message send."""
    receiver = machine.value(expression.receiver)
    values = [machine.value(a) for a in expression.arguments]
    selector = expression.selector
    if encodes(selector):
        metal.send(machine, expression, values)
        return None
    handler = _SELECTORS.get(selector)
    if handler is not None:
        return handler(machine, receiver, values)
    if "resultsDictionary:" in selector:
        parts = selector.split(":")
        feeds = values[parts.index("feeds")] if "feeds" in parts else UNKNOWN
        run_graph(machine, feeds, values[parts.index("resultsDictionary")], expression.start)
        return None
    if selector.startswith("arrayView") and isinstance(receiver, Binding):
        return Binding("strided" if "strides:" in selector else receiver.kind, receiver.tensor, True)
    if isinstance(receiver, Closure):
        return machine.apply(receiver, values)
    for value in values:
        if isinstance(value, Closure) and value.code.relevant:
            machine.apply(value, [])
    if selector.startswith("reshape"):
        for value in values:
            if isinstance(value, Binding):
                return value
    if isinstance(expression.receiver, s.Name) and expression.receiver.name.startswith(
        ("NSMutable", "NSDictionary", "NSArray")
    ):
        return Dictionary([v for v in values if isinstance(v, (Placeholder, Tensor))])
    if selector in ("new", "alloc", "init") and isinstance(receiver, Dictionary):
        return receiver
    from patchkit.scan.machine import key_of

    return Symbol(("message", selector, key_of(receiver), tuple(key_of(v) for v in values)))


def _same(machine: Machine, receiver: Any, values: list[Any]) -> Any:
    return receiver


def _mutable_copy(machine: Machine, receiver: Any, values: list[Any]) -> Any:
    return Dictionary(list(receiver.items)) if isinstance(receiver, Dictionary) else receiver


def _data_from_buffer(machine: Machine, receiver: Any, values: list[Any]) -> Any:
    if values and isinstance(values[0], Buffer):
        return Binding("dense", values[0].tensor)
    return Symbol(("data", machine.steps))


def _array_from_buffer(machine: Machine, receiver: Any, values: list[Any]) -> Any:
    if values and isinstance(values[0], Buffer):
        return Binding("dense", values[0].tensor, len(values) > 1 and values[1] not in (0, None), array=True)
    return Symbol(("array", machine.steps))


def _data_from_array(machine: Machine, receiver: Any, values: list[Any]) -> Any:
    return values[0] if values and isinstance(values[0], Binding) else Symbol(("data", machine.steps))


def _set_object(machine: Machine, receiver: Any, values: list[Any]) -> Any:
    if isinstance(receiver, Dictionary) and values:
        receiver.items.append(values[0])
    return None


def _extend(machine: Machine, receiver: Any, values: list[Any]) -> Any:
    if isinstance(receiver, Dictionary) and values and isinstance(values[0], Dictionary):
        receiver.items.extend(values[0].items)
    return None


_SELECTORS: dict[str, Callable[[Any, Any, list[Any]], Any]] = {
    "autorelease": _same,
    "retain": _same,
    "copy": _same,
    "mutableCopy": _mutable_copy,
    "initWithMTLBuffer:shape:dataType:": _data_from_buffer,
    "initWithMTLBuffer:shape:dataType:rowBytes:": _data_from_buffer,
    "initWithBuffer:descriptor:": _array_from_buffer,
    "initWithBuffer:offset:descriptor:": _array_from_buffer,
    "initWithMPSNDArray:": _data_from_array,
    "initWithCapacity:": _same,
    "init": _same,
    "setObject:forKey:": _set_object,
    "setValue:forKey:": _set_object,
    "addObject:": _set_object,
    "insertObject:atIndex:": _set_object,
    "addEntriesFromDictionary:": _extend,
}
_ = Slot
