"""Kernels that already have a temporary, but the wrong one or behind the wrong guard: repaired, not wrapped again.

Wrong temporaries: ``x.contiguous()`` is ``x`` itself for a contiguous tensor with an offset; ``empty_like(x, format)``
keeps channels_last. Wrong guards: they look at another tensor, or not at the storage offset.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from patchkit.fix.edits.copy_back import Edits, insert_after
from patchkit.fix.edits.guards import guard_for
from patchkit.fix.edits.inputs import dense_inputs, gathers_always, shaped_by_format
from patchkit.fix.edits.kernel import Kernel, RefusedError
from patchkit.fix.edits.templates import COLUMNS, render_inline
from patchkit.fix.edits.text import TextEdit, delete_lines, line_end, line_start, newline_of
from patchkit.scan import syntax as s
from patchkit.scan.engine import Engine
from patchkit.scan.slicing import names
from patchkit.scan.walk import walk

TEMPORARY = "contiguous_temporary"
GUARD = "widen_guard"
MISSING = "missing_copy_back"
#: How :mod:`patchkit.scan.engine` says that a temporary holds the result and nothing copies it.
NOT_COPIED = "not copied back"
_LAYOUT_CALLS = frozenset(("is_contiguous", "needsGather", "is_view", "storage_offset", "suggest_memory_format"))


@dataclass(frozen=True)
class Existing:
    """The temporary a kernel has: its name, and the expression of the tensor it is copied back into."""

    name: str
    output: str


def existing(kernel: Kernel) -> Existing | None:
    """The temporary that the Placeholder is given, if the kernel copies it back anywhere."""
    handed = names(kernel.tensor) - {parameter.name for parameter in kernel.function.parameters}
    for node in walk(kernel.function.body):
        if isinstance(node, s.Call) and isinstance(node.callee, s.Member) and node.callee.name == "copy_":
            source = node.arguments[0] if node.arguments else None
            if isinstance(source, s.Name) and source.name in handed:
                return Existing(source.name, kernel.text(node.callee.object))
    return None


def repairs(engine: Engine, kernel: Kernel, own: Existing) -> list[Edits]:
    """The edits that may cure a kernel with a temporary of its own, the smallest first; each is to be verified.

    Raises:
        RefusedError: neither its temporary, its guard nor its copy-back is of a form that can be changed.
    """
    if shaped_by_format(kernel):
        raise RefusedError(
            "the graph's result has the order of a memory format here; a contiguous temporary would be in another"
        )
    parts: dict[str, list[TextEdit]] = {}
    if any(v.reason == NOT_COPIED for vs in kernel.site.verdicts.values() for v in vs):
        parts[MISSING] = _copies_after(kernel, own)
    parts[TEMPORARY] = list(_temporary(kernel, own))
    parts[GUARD] = list(_guard(engine, kernel, own))
    parts = {template: edits for template, edits in parts.items() if edits}
    dense = not gathers_always(engine, kernel.placeholder) and bool(dense_inputs(engine, kernel))
    out = []
    for size in range(1, len(parts) + 1):
        for chosen in combinations(parts, size):
            if not dense or GUARD in chosen:
                out.append(Edits(chosen[-1], tuple(edit for template in chosen for edit in parts[template])))
    if not out:
        raise RefusedError(
            f"the kernel has a temporary `{own.name}` of its own, made and guarded in a way no template covers"
        )
    return out


# -- the copy-back ---------------------------------------------------------------------------------------


def _copies_after(kernel: Kernel, own: Existing) -> list[TextEdit]:
    """Copy the temporary back after each run, under the condition that the kernel's own copy has."""
    test = next((t for t, _, copied in _tests(kernel, own) if copied), None)
    given: dict[str, object] = {
        "temporary": own.name,
        "tensor": own.output,
        "test": kernel.text(test) if isinstance(test, (s.Name, s.Unary)) else "",
    }
    return [insert_after(kernel, run[-1], MISSING, "after", given) for run in kernel.runs]


# -- the temporary ---------------------------------------------------------------------------------------


def _temporary(kernel: Kernel, own: Existing) -> Iterator[TextEdit]:
    wanted = render_inline(TEMPORARY, "allocation", tensor=own.output)
    for value in _allocations(kernel, own.name):
        for leaf in _leaves(value):
            if isinstance(leaf, s.Call) and kernel.text(leaf) != wanted and _makes(leaf):
                yield TextEdit(leaf.start, leaf.end, wanted.encode())


def _allocations(kernel: Kernel, name: str) -> Iterator[s.Expr]:
    for node in walk(kernel.function.body):
        declared = isinstance(node, s.Declare) and node.name == name
        assigned = isinstance(node, s.Assign) and isinstance(node.target, s.Name) and node.target.name == name
        if (declared or assigned) and node.value is not None:
            yield node.value


def _leaves(value: s.Expr) -> Iterator[s.Expr]:
    if isinstance(value, s.Conditional):
        yield from _leaves(value.then)
        yield from _leaves(value.other)
    else:
        yield value


def _makes(call: s.Call) -> bool:
    """Whether a call makes a tensor that takes over a layout, or may be the tensor it is asked for."""
    name = getattr(call.callee, "name", "")
    return name in ("contiguous", "empty_like", "clone")


# -- the guard -------------------------------------------------------------------------------------------


def _guard(engine: Engine, kernel: Kernel, own: Existing) -> Iterator[TextEdit]:
    """Make every condition that decides about the temporary the one the Placeholder needs."""
    guard = guard_for(engine, kernel.placeholder)
    tensors = [own.output]
    if not gathers_always(engine, kernel.placeholder):
        tensors += [kernel.text(made.arguments[1]) for made in dense_inputs(engine, kernel)]
    same = _references(kernel)
    tensors = list(dict.fromkeys(same.get(t, t) for t in tensors))
    needed = " || ".join(guard.of(t) for t in tensors)
    plain = " && ".join(guard.of(t, negated=True) for t in tensors)
    edits: list[TextEdit] = []
    flags: dict[str, bool] = {}
    for test, copies, is_copy in _tests(kernel, own):
        positive, inner = copies, test
        while isinstance(inner, s.Unary) and inner.operator == "!":
            positive, inner = not positive, inner.operand
        if isinstance(inner, s.Name):
            flags.setdefault(inner.name, positive)
        elif isinstance(inner, s.Binary) and inner.operator == "&&" and isinstance(inner.left, s.Name) and positive:
            flags.setdefault(inner.left.name, True)
            edits.append(TextEdit(inner.start, inner.end, inner.left.name.encode()))
        elif is_copy and _about_layout(test):
            same_tensor = render_inline(GUARD, "copied", temporary=own.name, tensor=own.output)
            edits.append(TextEdit(test.start, test.end, same_tensor.encode()))
        elif _about_layout(test):
            edits.append(TextEdit(test.start, test.end, (needed if copies else plain).encode()))
    for node in walk(kernel.function.body):
        if isinstance(node, s.Declare) and node.name in flags and node.value is not None and _about_layout(node.value):
            edits.append(_assigned(kernel, node.value, needed if flags[node.name] else plain))
    edits = [edit for edit in edits if _plain(kernel.source[edit.start : edit.end]) != _plain(edit.text)]
    if not any(e.text.decode().strip() for e in edits):
        return
    yield from edits
    yield from _unused(kernel, edits)


def _plain(text: bytes) -> bytes:
    """A condition without what makes no difference: spaces, and namespaces."""
    return re.sub(rb"\s+|\b(?:at::|native::|mps::)+", b"", text)


def _tests(kernel: Kernel, own: Existing) -> Iterator[tuple[s.Expr, bool, bool]]:
    """Conditions about the temporary: the condition, whether true means it is used, whether it guards the copy."""
    for node in walk(kernel.function.body):
        if isinstance(node, s.If):
            copied = _copies(node.then, own.name)
            if copied or _allocates(node.then, own.name):
                yield node.test, True, copied
            elif _allocates(node.other, own.name) and not any(isinstance(o, s.If) for o in node.other):
                yield node.test, False, False
        elif isinstance(node, s.Conditional):
            then, other = names(node.then), names(node.other)
            makes = _mentions(kernel, node.then, own) or _mentions(kernel, node.other, own)
            if makes and (own.name in then) != (own.name in other):
                yield node.test, own.name in then, False
    for value in _allocations(kernel, own.name):
        if isinstance(value, s.Conditional):
            yield value.test, any(isinstance(leaf, s.Call) for leaf in _leaves(value.then)), False


def _mentions(kernel: Kernel, arm: s.Expr, own: Existing) -> bool:
    return isinstance(arm, s.Name) and arm.name == own.name


def _copies(body: list[s.Stmt], name: str) -> bool:
    return any(
        isinstance(node, s.Call)
        and isinstance(node.callee, s.Member)
        and node.callee.name == "copy_"
        and any(isinstance(a, s.Name) and a.name == name for a in node.arguments)
        for statement in body
        if not isinstance(statement, s.If)
        for node in walk(statement)
    )


def _allocates(body: list[s.Stmt], name: str) -> bool:
    return any(
        isinstance(node, s.Assign) and isinstance(node.target, s.Name) and node.target.name == name
        for statement in body
        if not isinstance(statement, s.If)
        for node in walk(statement)
    )


def _about_layout(test: s.Expr) -> bool:
    """Whether a condition asks for nothing but layouts."""
    calls = [node for node in walk(test) if isinstance(node, s.Call)]
    return bool(calls) and all(getattr(call.callee, "name", "") in _LAYOUT_CALLS for call in calls)


def _references(kernel: Kernel) -> dict[str, str]:
    """Names that are references to another tensor: ``Tensor& output = self``."""
    return {
        node.name: node.value.name
        for node in walk(kernel.function.body)
        if isinstance(node, s.Declare) and "&" in node.type and isinstance(node.value, s.Name)
    }


def _assigned(kernel: Kernel, value: s.Expr, text: str) -> TextEdit:
    """Replace an initializer: on the line of its ``=`` where that fits, else on the next."""
    source = kernel.source
    start = source.rfind(b"=", 0, value.start) + 1
    head = source[line_start(source, start) : start]
    tail = len(source[value.end : line_end(source, value.end)].rstrip())
    if len(head.decode()) + 1 + len(text) + tail <= COLUMNS:
        return TextEdit(start, value.end, f" {text}".encode())
    indent = re.match(rb"\s*", head)
    lead = (indent.group().decode() if indent else "") + "    "
    newline = newline_of(source)
    if len(lead) + len(text) + tail > COLUMNS:
        text = text.replace(" || ", f" ||{newline}{lead}").replace(" && ", f" &&{newline}{lead}")
    return TextEdit(start, value.end, f"{newline}{lead}{text}".encode())


def _unused(kernel: Kernel, edits: list[TextEdit]) -> Iterator[TextEdit]:
    """Delete the variables that only the replaced conditions used."""
    left = bytearray(kernel.source[kernel.function.start : kernel.function.end])
    for edit in edits:
        start, end = edit.start - kernel.function.start, edit.end - kernel.function.start
        left[start:end] = b" " * (end - start)
    added = b" ".join(edit.text for edit in edits)
    for node in walk(kernel.function.body):
        if not isinstance(node, s.Declare) or node.value is None or not _about_layout(node.value):
            continue
        word = re.compile(rb"\b" + re.escape(node.name.encode()) + rb"\b")
        if word.search(added) or len(word.findall(bytes(left))) != 1:
            continue
        if not any(word.search(kernel.source, e.start, e.end) for e in edits):
            continue
        deletion = delete_lines(kernel.source, node.start, node.end)
        if deletion is not None:
            yield deletion
