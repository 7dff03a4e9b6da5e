"""How a Python user reaches an overload: ``Tensor`` methods, ``torch`` functions, ``torch.nn.functional``.

Rests on ``tools/autograd/gen_python_functions.py`` (which overloads get a binding, and in which module) and,
for ``python_module: nn``, on ``torch/nn/functional.py``. What those files say is read from the tree; where a
sparse checkout lacks them, the rules that need them are skipped.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from patchkit.scan.registry.schema import Kind, Overload

_GENERATOR = "tools/autograd/gen_python_functions.py"
_NN_FUNCTIONAL = "torch/nn/functional.py"
# Hand-written bindings: table rows `{"name", function, flags, doc}`, methods and torch functions.
_MANUAL_METHODS = "tools/autograd/templates/python_variable_methods.cpp"
_MANUAL_FUNCTIONS = "torch/csrc/autograd/python_torch_functions_manual.cpp"
# Python's subscript (x[i], x[i] = v) is implemented by this header, in terms of Tensor methods.
_SUBSCRIPT = "aten/src/ATen/TensorIndexing.h"

_BINDING_ROW = re.compile(r'\{\s*"(\w+)"\s*,')
_NN_CALL = re.compile(r"^(?:def (\w+)\(|(\w+) = _add_docstr\(\s*torch\._C\._nn\.(\w+))|torch\._C\._nn\.(\w+)", re.M)
_SELF_CALL = re.compile(r"\bself\.(\w+)\(")
# What the generator's list has skipped in every release; used where the tree does not hold the generator.
_ALWAYS_SKIPPED = re.compile(r".*_(?:backward|forward|jvp)(?:_\w+)?")


@dataclass(frozen=True)
class PythonFacts:
    """What the tree says about Python bindings.

    Args:
        skipped: names that get no generated binding, as one pattern.
        skipped_signatures: schemas that get none.
        methods, functions: names bound by hand on ``Tensor`` and on ``torch``.
        subscripted: ``Tensor`` methods that ``x[...]`` is made of.
        nn: operator name in ``torch._C._nn`` to the ``torch.nn.functional`` function that calls it;
            ``None`` when
            the tree does not have that file.
        nn_direct: operators that ``torch.nn.functional`` exposes as they are, with their ``out=``.
    """

    skipped: re.Pattern[str] = _ALWAYS_SKIPPED
    skipped_signatures: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    subscripted: frozenset[str] = frozenset()
    nn: Mapping[str, str] | None = None
    nn_direct: Mapping[str, str] = field(default_factory=dict)


def read_python_facts(root: Path) -> PythonFacts:
    """Read the files named at the top of this module; missing ones leave their part empty."""
    generator = _read(root / _GENERATOR)
    skipped = _string_list(generator, "_SKIP_PYTHON_BINDINGS")
    nn, direct = _nn_functions(_read(root / _NN_FUNCTIONAL))
    return PythonFacts(
        skipped=_one_pattern(skipped),
        skipped_signatures=frozenset(_string_list(generator, "SKIP_PYTHON_BINDINGS_SIGNATURES")),
        methods=frozenset(_BINDING_ROW.findall(_read(root / _MANUAL_METHODS))),
        functions=frozenset(_BINDING_ROW.findall(_read(root / _MANUAL_FUNCTIONS))),
        subscripted=frozenset(_SELF_CALL.findall(_read(root / _SUBSCRIPT))),
        nn=nn,
        nn_direct=direct,
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _string_list(source: str, name: str) -> list[str]:
    """Value of a module-level list of strings; an empty list when it is not there or not plain."""
    match = re.search(rf"^{name} = (\[.*?^\])", source, re.MULTILINE | re.DOTALL)
    if not match:
        return []
    try:
        value = ast.literal_eval(match[1])
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    return [item for item in value if isinstance(item, str)]


def _one_pattern(patterns: list[str]) -> re.Pattern[str]:
    try:
        return re.compile("|".join(f"(?:{pattern})" for pattern in patterns)) if patterns else _ALWAYS_SKIPPED
    except re.error:
        return _ALWAYS_SKIPPED


def _nn_functions(source: str) -> tuple[dict[str, str] | None, dict[str, str]]:
    if not source:
        return None, {}
    used: dict[str, str] = {}
    direct: dict[str, str] = {}
    current = ""
    for match in _NN_CALL.finditer(source):
        defined, alias, aliased, called = match.groups()
        if defined:
            current = defined
        elif alias:
            direct[aliased] = alias
            used.setdefault(aliased, alias)
        elif called and not current.startswith("_"):
            used.setdefault(called, current)
    return used, direct


def describe(overload: Overload, schema: str, facts: PythonFacts) -> tuple[bool, str]:
    """Say whether an overload is public in Python, and how it is called there.

    Args:
        overload: its name, kind, variants and module are read.
        schema: text of ``func:``.
        facts: from :func:`read_python_facts`.

    Returns:
        ``(public, call)``; a functional backward kernel counts as public, through ``Tensor.backward()``. The
        call of an overload that is not public is its ``torch.ops.aten`` (or ``torch._C._nn``) form.
    """
    function, _, name = overload.name.partition(".")
    found = _bound(overload, function, schema, facts)
    if not found[0] and overload.kind == "functional" and "_backward" in function:
        return True, "Tensor.backward()"
    return found if found[1] else (False, f"torch.ops.aten.{function}.{name or 'default'}")


def _bound(overload: Overload, function: str, schema: str, facts: PythonFacts) -> tuple[bool, str]:
    """How a binding is called; an empty call when there is none."""
    kind, module = overload.kind, overload.python_module
    call = "(out=)" if kind == "out" else "()"
    reached_by_nn = module == "nn" and kind != "out" and function in (facts.nn or ())
    if function.startswith("_") and not function.startswith("__") and not reached_by_nn:
        return False, ""
    if facts.skipped.fullmatch(overload.cpp_name) or schema in facts.skipped_signatures:
        return _bound_by_hand(function, kind, facts)
    if module == "nn":
        return _bound_in_nn(function, kind, call, facts)
    if module is not None:
        return True, f"torch.{module}.{function.removeprefix(module + '_')}{call}"
    prefer_method = kind == "inplace" or "function" not in overload.variants or function.startswith("__")
    if "method" in overload.variants and prefer_method:
        return True, f"Tensor.{function}()"
    return True, f"torch.{function}{call}"


def _bound_by_hand(function: str, kind: Kind, facts: PythonFacts) -> tuple[bool, str]:
    if kind != "out" and function in facts.methods:
        return True, f"Tensor.{function}()"
    if function in facts.functions:
        return True, f"torch.{function}{'(out=)' if kind == 'out' else '()'}"
    if kind != "out" and function in facts.subscripted:
        return True, "Tensor.__setitem__()" if kind == "inplace" else "Tensor.__getitem__()"
    return False, ""


def _bound_in_nn(function: str, kind: Kind, call: str, facts: PythonFacts) -> tuple[bool, str]:
    if kind == "out":
        if function in facts.nn_direct:
            return True, f"torch.nn.functional.{facts.nn_direct[function]}{call}"
    elif facts.nn is None:
        return True, f"torch.nn.functional.{function}{call}"
    elif function in facts.nn:
        return True, f"torch.nn.functional.{facts.nn[function]}{call}"
    return False, f"torch._C._nn.{function}{call}"
