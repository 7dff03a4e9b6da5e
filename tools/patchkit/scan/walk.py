"""Walks over lowered functions: every statement and expression, lambdas included."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from patchkit.scan import syntax as s
from patchkit.scan.slicing import EXPRESSION_FIELDS

_COMMENT_OR_STRING = re.compile(rb"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL)
_COUNTED = {
    "Placeholder(": re.compile(rb"(?<!~)\bPlaceholder\s*[({]|\bPlaceholder\s+\w+\s*[({]"),
    "runMPSGraph(": re.compile(rb"\brunMPSGraph\s*\("),
    ".copy_(": re.compile(rb"\.copy_\s*\("),
}


def walk(node: Any, *, sliced: bool = False) -> Iterator[Any]:
    """Yield every statement and expression below ``node``, itself included; of lambdas what slicing kept, if asked."""
    stack = [node]
    while stack:
        current = stack.pop()
        if current is None:
            continue
        if isinstance(current, (list, tuple)):
            stack.extend(current)
        elif isinstance(current, s.Lambda):
            yield current
            stack.append(current.kept if sliced and current.kept is not None else current.body)
        elif isinstance(current, s.Expr):
            yield current
            stack.extend(getattr(current, name) for name in EXPRESSION_FIELDS[type(current)])
        elif isinstance(current, s.Declare):
            yield current
            stack.extend((current.value, current.arguments))
        elif isinstance(current, s.If):
            yield current
            stack.extend((current.init, current.test, current.then, current.other))
        elif isinstance(current, s.Loop):
            yield current
            stack.extend((current.head, current.over, current.body))
        elif isinstance(current, s.Switch):
            yield current
            stack.append(current.value)
            for labels, body in current.cases:
                stack.extend((labels, body))
        elif isinstance(current, s.Block):
            yield current
            stack.append(current.body)
        elif isinstance(current, (s.Evaluate, s.Return, s.Bind)):
            yield current
            stack.append(current.value)
        elif isinstance(current, s.Stmt):
            yield current


@dataclass(frozen=True)
class Construction:
    """A Placeholder that is given a tensor: where its tensor argument stands."""

    start: int
    end: int
    text: str


def placeholders(function: s.Function, body: list[s.Stmt]) -> list[Construction]:
    """Every Placeholder constructed with a tensor in the sliced body of a function."""
    found = []
    for node in walk(body, sliced=True):
        arguments: list[s.Expr] | None = None
        if isinstance(node, s.Call) and isinstance(node.callee, s.Name) and node.callee.name == "Placeholder":
            arguments = node.arguments
        elif isinstance(node, s.Declare) and node.type.endswith("Placeholder"):
            arguments = node.arguments
            if arguments is None and isinstance(node.value, s.Collection) and node.value.kind == "init":
                arguments = node.value.items
        elif isinstance(node, s.Collection) and node.type.endswith("Placeholder"):
            arguments = node.items
        if arguments is not None and len(arguments) >= 2:
            found.append(Construction(arguments[1].start, arguments[1].end, text_of(function, arguments[1])))
    return found


def text_of(function: s.Function, expression: s.Expr) -> str:
    """The source of an expression on one line; of a kernel written by a macro, in its expanded form."""
    base = 0 if function.expanded else function.start
    text = function.text[expression.start - base : expression.end - base]
    return " ".join(re.sub(rb"/\*.*?\*/", b"", text).decode("utf-8", "replace").split())


def miscounted(function: s.Function) -> str:
    """Which of the calls that matter the syntax tree shows in another number than the plain text, or ``""``."""
    if function.expanded:
        return ""  # the macro's text is counted where it is expanded
    plain = _COMMENT_OR_STRING.sub(b" ", function.text[function.body_start - function.start :])
    if not any(pattern.search(plain) for pattern in _COUNTED.values()):
        return ""
    seen = dict.fromkeys(_COUNTED, 0)
    for node in walk(function.body):
        if isinstance(node, s.Call):
            if isinstance(node.callee, s.Name) and f"{node.callee.name}(" in seen:
                seen[f"{node.callee.name}("] += 1
            elif isinstance(node.callee, s.Member) and node.callee.name == "copy_":
                seen[".copy_("] += not node.callee.arrow
        elif (
            (isinstance(node, s.Declare) and node.type.endswith("Placeholder"))
            and (node.arguments is not None or (isinstance(node.value, s.Collection) and node.value.kind == "init"))
        ) or (isinstance(node, s.Collection) and node.type.endswith("Placeholder")):
            seen["Placeholder("] += 1
    for name, pattern in _COUNTED.items():
        expected = len(pattern.findall(plain))
        if expected != seen[name]:
            return f"the text has {expected} calls {name}...), the syntax tree {seen[name]}"
    return ""


def signature(function: s.Function, body: list[s.Stmt], compared: frozenset[str]) -> Any:
    """A body as nested tuples, equal for kernels that differ only in names, messages and graph-building blocks.

    Args:
        function: the function; its parameters are numbered.
        body: its statements, sliced.
        compared: string literals that some kernel compares with; other strings are all alike.
    """
    order = {p.name: place for place, p in enumerate(function.parameters)}

    def of(node: Any) -> Any:
        if isinstance(node, (list, tuple)):
            return tuple(of(n) for n in node)
        if isinstance(node, s.Lambda):
            kept = node.body if node.kept is None else node.kept
            return ("lambda", of(kept)) if node.relevant else "lambda"
        if isinstance(node, s.Name):
            return ("parameter", order[node.name]) if node.name in order else ("name", node.scope, node.name)
        if isinstance(node, s.Literal):
            value = node.value
            return value if not isinstance(value, str) or value.strip('"') in compared else "string"
        if isinstance(node, (s.Expr, s.Stmt)):
            parts = (getattr(node, name) for name in _PARTS[type(node)])
            return (type(node).__name__, *(of(p) for p in parts))
        return node

    return of(body)


_PARTS: dict[type, tuple[str, ...]] = {
    kind: tuple(f.name for f in fields(kind) if f.name not in ("start", "end"))
    for kind in (
        s.Name, s.Literal, s.Call, s.Member, s.Message, s.Collection, s.Conditional, s.Unary, s.Binary, s.Assign,
        s.Index, s.Cast, s.Lambda, s.Opaque, s.Declare, s.Bind, s.Evaluate, s.If, s.Loop, s.Switch, s.Return,
        s.Block, s.Jump,
    )
}  # fmt: skip
