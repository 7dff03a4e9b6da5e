"""Values other than tensors that an abstract run of a kernel passes around."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from patchkit.scan.layout import Storage, Tensor

if TYPE_CHECKING:
    from patchkit.scan.syntax import Lambda


@dataclass(slots=True, eq=False)
class Symbol:
    """Something unknown; equal keys mean the same unknown value on one path."""

    key: tuple[Any, ...]
    tensors: tuple[Tensor, ...] = ()


@dataclass(slots=True, eq=False)
class Test:
    """An unevaluated condition over layouts, the macOS version and unknowns; evaluated where it is branched on.

    ``kind`` is ``layout`` (operands: tensor, atoms), ``macos`` (operands: minimum major version), ``not``, ``and``,
    ``or``, or ``unknown`` (operands: a key).
    """

    kind: str
    operands: tuple[Any, ...]


@dataclass(slots=True, eq=False)
class Binding:
    """What a graph result is written into.

    ``kind`` is ``dense`` (the buffer from its start, strides ignored), ``strided`` (strides and offset honoured),
    or ``foreign`` (no tensor's memory). ``tensor`` is the tensor whose storage the data object wraps; ``offset``
    says whether its storage offset is honoured, ``array`` whether the data object wraps an ``MPSNDArray``.
    """

    kind: str
    tensor: Tensor | None
    offset: bool = False
    array: bool = False


@dataclass(slots=True, eq=False)
class Placeholder:
    """A constructed Placeholder: the tensor it was given, the memory its data object wraps, and where it stands."""

    tensor: Tensor | None
    binding: Binding | None
    file: str = ""
    start: int = -1
    end: int = -1
    text: str = ""
    function: str = ""
    unknown: str = ""
    flags: tuple[Any, ...] = ()


@dataclass(slots=True, eq=False)
class Dictionary:
    """An Objective-C collection or a C++ container; the items keep their order."""

    items: list[Any] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Closure:
    """A lambda or block with the scopes it was made in."""

    code: Lambda
    scopes: list[dict[str, Any]]
    file: str
    function: str


@dataclass(slots=True, eq=False)
class Buffer:
    """The ``MTLBuffer`` of a storage."""

    storage: Storage
    tensor: Tensor


@dataclass(slots=True, eq=False)
class Slot:
    """A variable; references share one."""

    value: Any
    type: str = ""


@dataclass(slots=True, eq=False)
class Fields:
    """An object of a class of the tree, as its fields."""

    name: str
    fields: dict[str, Slot] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Iterator:
    """A ``TensorIterator``: its outputs and inputs."""

    outputs: list[Tensor]
    inputs: list[Tensor]


class Unknown:
    """The value of something the machine does not model."""

    __slots__ = ()


UNKNOWN = Unknown()
