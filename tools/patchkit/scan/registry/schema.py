"""Operator schemas of ``native_functions.yaml``: the text of ``func:`` as plain data.

The grammar is the one of ``torchgen/model.py`` (``FunctionSchema.parse`` and ``SchemaKind``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from patchkit.errors import InputError

Kind = Literal["functional", "inplace", "out", "mutable"]

_DECLARATION = re.compile(r"([^(]+)\((.*)\) -> (.+)", re.DOTALL)
_ARGUMENT = re.compile(r"(?P<type>\S[^=]*) (?P<name>\w+)(?:=(?P<default>.*))?")
_ANNOTATION = re.compile(r"\(([^()]*)\)")
_DUNDER = re.compile(r"__(i?)([^_]+)__")
# In-place dunder methods are the augmented assignments (torchgen/model.py, AUGMENTED_ASSIGNMENT_NAMES).
_AUGMENTED = frozenset(
    [
        "add",
        "sub",
        "mul",
        "div",
        "mod",
        "pow",
        "lshift",
        "rshift",
        "and",
        "xor",
        "or",
        "floordiv",
        "truediv",
        "matmul",
    ]
)


@dataclass(frozen=True)
class Argument:
    """One schema argument.

    Args:
        name: as in the schema, which is also its name in the C++ signature.
        type: without annotation and default, for instance ``Tensor`` or ``SymInt[2]``.
        mutable: the schema marks it written, ``(a!)``.
        is_out: keyword-only and written: an ``out=`` argument, which C++ signatures put last.
        default: text of the default, or ``None``.
    """

    name: str
    type: str
    mutable: bool = False
    is_out: bool = False
    default: str | None = None

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor, an optional tensor or a list of them."""
        return self.type.startswith("Tensor")


@dataclass(frozen=True)
class Overload:
    """One entry of ``native_functions.yaml``.

    Args:
        name: ``addcmul.out``; base name and overload name as the dispatcher knows them.
        base: name without overload name and without the trailing underscore of in-place operators.
        kind: ``functional``, ``inplace`` (name ends in an underscore), ``out``, or ``mutable`` (a functional
            name whose schema writes to an argument, as in-place running statistics do).
        arguments: in C++ order: keyword-only ``out=`` arguments last.
        n_returns: number of returned values.
        structured: this is the ``out`` overload of a structured kernel.
        structured_delegate: ``out`` overload that implements this one, or ``None``.
        structured_inherits: base class of the meta function's class, or ``None``.
        precomputed: raw lines of ``precomputed:``.
        dispatch: dispatch key to C++ kernel name, with joint keys split; empty when the entry has no table.
        tags: of the entry.
        variants: ``function`` and ``method``, as given.
        python_module: ``nn``, ``linalg`` ... or ``None``.
        autogen: overloads that torchgen generates from this one.
        line: 1-based line of the entry.
        public: whether Python code reaches it without ``torch.ops.aten`` and without underscored names.
        python: how a Python user writes the call, for instance ``torch.addcmul(out=)``.
    """

    name: str
    base: str
    kind: Kind
    arguments: tuple[Argument, ...]
    n_returns: int
    structured: bool = False
    structured_delegate: str | None = None
    structured_inherits: str | None = None
    precomputed: tuple[str, ...] = ()
    dispatch: Mapping[str, str] = field(default_factory=dict, hash=False)
    tags: tuple[str, ...] = ()
    variants: tuple[str, ...] = ("function",)
    python_module: str | None = None
    autogen: tuple[str, ...] = ()
    line: int = 0
    public: bool = False
    python: str = ""

    @property
    def cpp_name(self) -> str:
        """Name in the C++ API: ``add_``, ``addcmul_out`` (``torchgen/api/cpp.py``, ``name``)."""
        full = self.name.partition(".")[0]
        return f"{full}_out" if self.kind == "out" else full

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """The arguments the schema says are written, in C++ order."""
        return tuple(argument for argument in self.arguments if argument.mutable)


@dataclass(frozen=True)
class Schema:
    """A parsed ``func:`` line; see :class:`Overload` for the fields."""

    name: str
    base: str
    kind: Kind
    arguments: tuple[Argument, ...]
    n_returns: int


def split_top_level(text: str, separator: str = ",") -> list[str]:
    """Split at separators outside brackets and quotes; parts are stripped, an empty text has none."""
    parts: list[str] = []
    depth = start = 0
    quote = ""
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == separator and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    if last or parts:
        parts.append(last)
    return parts


def operator_base(full: str) -> tuple[str, bool]:
    """Split an operator name without overload into its base and whether it is in-place.

    ``add_`` is in-place ``add``; ``__iand__`` is in-place ``__and__`` (``BaseOperatorName.parse``).
    """
    dunder = _DUNDER.fullmatch(full)
    if dunder:
        inplace = bool(dunder[1]) and dunder[2] in _AUGMENTED
        return (f"__{dunder[2]}__" if inplace else full), inplace
    return (full[:-1], True) if full.endswith("_") else (full, False)


def parse_argument(text: str, *, keyword_only: bool = False) -> Argument:
    """Read one argument such as ``Tensor(a!) self`` or ``int[2] stride=1``.

    Raises:
        InputError: the text is not an argument.
    """
    match = _ARGUMENT.fullmatch(text)
    if not match:
        raise InputError(f"'{text}' is not a schema argument")
    kind, mutable = match["type"], False
    if "(" in kind:
        annotation = _ANNOTATION.search(kind)
        mutable = bool(annotation and "!" in annotation[1])
        kind = _ANNOTATION.sub("", kind)
    return Argument(match["name"], kind, mutable, mutable and keyword_only, match["default"])


def parse_arguments(text: str) -> tuple[Argument, ...]:
    """Read an argument list; the result is in C++ order, with ``out=`` arguments last.

    Raises:
        InputError: a part is not an argument.
    """
    # torchgen splits at ", " as well; only a default such as "[0, 1]" needs the careful splitter.
    parts = text.split(", ") if "[" not in text and '"' not in text else split_top_level(text)
    positional: list[Argument] = []
    out: list[Argument] = []
    keyword_only = False
    for part in parts:
        if part == "*":
            keyword_only = True
        elif part:
            argument = parse_argument(part, keyword_only=keyword_only)
            (out if argument.is_out else positional).append(argument)
    return (*positional, *out)


def parse_schema(func: str) -> Schema:
    """Read the text of ``func:``.

    Raises:
        InputError: it is not ``name(arguments) -> returns``.
    """
    match = _DECLARATION.fullmatch(func)
    if not match:
        raise InputError(f"'{func[:80]}' is not an operator schema (name(arguments) -> returns)")
    name = match[1].removeprefix("aten::")
    arguments = parse_arguments(match[2])
    base, inplace = operator_base(name.partition(".")[0])
    kind: Kind = "functional"
    if inplace:
        kind = "inplace"
    elif any(argument.is_out for argument in arguments):
        kind = "out"
    elif any(argument.mutable for argument in arguments):
        kind = "mutable"
    returns = match[3].strip()
    n_returns = len(split_top_level(returns[1:-1])) if returns.startswith("(") and returns.endswith(")") else 1
    return Schema(name, base, kind, arguments, n_returns)
