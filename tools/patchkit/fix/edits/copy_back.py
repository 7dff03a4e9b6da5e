"""The form upstream takes: a contiguous temporary at the output Placeholder, copied back right after the run.

As in PR 124442 (addcmul, addcdiv) and PR 165267 (random ops).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from patchkit.fix.edits import inputs
from patchkit.fix.edits.guards import guard_for
from patchkit.fix.edits.kernel import Kernel, RefusedError, Step, braced
from patchkit.fix.edits.names import flag_name, temporary_name
from patchkit.fix.edits.templates import COLUMNS, render
from patchkit.fix.edits.text import TextEdit, indent_at, line_end, line_start, newline_of
from patchkit.scan import syntax as s
from patchkit.scan.engine import Engine
from patchkit.scan.walk import walk

TEMPLATE = "copy_back"
CONDITIONAL = "copy_back_conditional"


@dataclass(frozen=True)
class Edits:
    """Edits of one site: the template they come from, and the names they add to the function."""

    template: str
    edits: tuple[TextEdit, ...]
    names: frozenset[str] = frozenset()


def copy_back(engine: Engine, kernel: Kernel, taken: frozenset[str], *, alone: bool) -> Edits:
    """Put a temporary at the Placeholder of ``kernel`` and copy it back after every run.

    Args:
        taken: names that other edits of the same function add.
        alone: whether the kernel has no other result to guard.

    Raises:
        RefusedError: no edit of this form is right here.
    """
    if kernel.site.text.startswith("{") or not _stable(kernel.tensor):
        raise RefusedError(f"`{kernel.site.text}` is not a plain tensor whose layout can be asked for twice")
    guard = guard_for(engine, kernel.placeholder)
    extra = inputs.gather_inputs(engine, kernel)
    taken |= kernel.tokens
    level = _common(kernel)
    outer = kernel.steps[level]
    inner = kernel.steps[level + 1 :]
    conditional = any(step.conditional for step in inner) or _conditionally_made(kernel)
    _check_scopes(kernel, level)
    tensor = kernel.text(kernel.tensor)
    temporary = temporary_name(kernel, taken)
    flag = flag_name(kernel, guard.flag, taken | {temporary}, alone=alone)
    names: dict[str, object] = {
        "tensor": tensor,
        "temporary": temporary,
        "flag": flag,
        "condition": guard.of(tensor),
    }
    template = CONDITIONAL if conditional else TEMPLATE
    edits = [_before(kernel, outer.statement, template, "before", names)]
    if conditional:
        edits.append(_before(kernel, kernel.steps[-1].statement, template, "make", names))
        replacement = f"{temporary}.defined() ? {temporary} : {tensor}"
    else:
        replacement = temporary
    edits += _replace(kernel, replacement)
    for run in kernel.runs:
        edits.append(_after(kernel, run[-1], template, "after", names))
    added = {temporary} if conditional else {temporary, flag}
    return Edits(template, (*edits, *extra), frozenset(added))


def _stable(tensor: s.Expr) -> bool:
    """Whether evaluating the expression again gives the same tensor and does nothing else."""
    for node in walk(tensor):
        if isinstance(node, s.Call):
            if not isinstance(node.callee, s.Member) or node.callee.name not in ("value", "get") or node.arguments:
                return False
        elif not isinstance(node, (s.Name, s.Member, s.Cast, s.Unary, s.Index, s.Literal)):
            return False
    return True


def _common(kernel: Kernel) -> int:
    """The depth of the innermost statement list that holds the Placeholder and every run."""
    depth = len(kernel.steps) - 1
    for run in kernel.runs:
        shared = 0
        for mine, other in zip(kernel.steps, run, strict=False):
            if mine.statements is not other.statements:
                break
            shared += 1
        if shared == 0:
            raise RefusedError("the graph runs before the Placeholder is made")
        depth = min(depth, shared - 1)
        if run[depth].index < kernel.steps[depth].index:
            raise RefusedError("the graph runs before the Placeholder is made")
    return depth


def _conditionally_made(kernel: Kernel) -> bool:
    """Whether a condition inside the statement decides about the Placeholder: ``c ? Placeholder(...) : ...``."""
    start = kernel.tensor.start
    for node in walk(kernel.steps[-1].statement):
        if isinstance(node, s.Conditional) and not kernel.tensor.start <= node.start < kernel.tensor.end:
            for arm in (node.then, node.other):
                if arm.start <= start < arm.end:
                    return True
    return False


def _check_scopes(kernel: Kernel, level: int) -> None:
    """Refuse where the tensor's name means nothing, or something else, where the copy-back would stand."""
    used = set(re.findall(r"[A-Za-z_]\w*", kernel.text(kernel.tensor)))
    for step in kernel.steps[level + 1 :]:
        if isinstance(step.inside, (s.Loop, s.Lambda)):
            raise RefusedError(
                "the result Placeholder is made in a loop and the graph runs after it: one temporary for each "
                "turn would be needed"
                if isinstance(step.inside, s.Loop)
                else "the Placeholder is made in a lambda that does not run the graph"
            )
        if used & _declared(step.statements[: step.index]):
            raise RefusedError("the tensor is declared in an inner scope and the graph runs outside it")
    for run in kernel.runs:
        for number, step in enumerate(run[level:]):
            first = kernel.steps[level].index if number == 0 else 0
            if used & _declared(step.statements[first : step.index]):
                raise RefusedError("the tensor's name means another tensor where the graph runs")
            if _assigned(step.statements[first : step.index], used):
                raise RefusedError("the tensor is pointed at another one between Placeholder and run")


def _declared(statements: list[s.Stmt]) -> set[str]:
    names: set[str] = set()
    for statement in statements:
        if isinstance(statement, s.Declare):
            names.add(statement.name)
        elif isinstance(statement, s.Bind):
            names.update(statement.names)
    return names


def _assigned(statements: list[s.Stmt], used: set[str]) -> bool:
    return any(
        isinstance(node, s.Assign) and isinstance(node.target, s.Name) and node.target.name in used
        for node in walk(statements)
    )


def _before(kernel: Kernel, statement: s.Stmt, template: str, part: str, names: dict[str, object]) -> TextEdit:
    indent = indent_at(kernel.source, statement.start)
    if indent is None or not braced(kernel.source, statement):
        raise RefusedError("the Placeholder stands where no statement can be put before it")
    start = line_start(kernel.source, statement.start)
    return TextEdit(start, start, render(template, part, indent, newline_of(kernel.source), **names))


def _after(kernel: Kernel, run: Step, template: str, part: str, names: dict[str, object]) -> TextEdit:
    statement = run.statement
    if not isinstance(statement, s.Evaluate):
        raise RefusedError("the graph runs inside a larger statement")
    indent = indent_at(kernel.source, statement.start)
    end = line_end(kernel.source, statement.end)
    rest = kernel.source[statement.end : end].strip()
    if indent is None or not braced(kernel.source, statement) or not (rest in (b"", b";") or rest.startswith(b"//")):
        raise RefusedError("the graph runs where no statement can be put after it")
    return TextEdit(end, end, render(template, part, indent, newline_of(kernel.source), **names))


def _replace(kernel: Kernel, replacement: str) -> list[TextEdit]:
    """Hand the Placeholder the temporary; a line that gets too long is broken after ``=``."""
    node, source = kernel.tensor, kernel.source
    edits = [TextEdit(node.start, node.end, replacement.encode())]
    first, last = line_start(source, node.start), line_end(source, node.end)
    line = source[first:last].rstrip()
    if len(line.decode("utf-8", "replace")) + len(replacement) - (node.end - node.start) > COLUMNS:
        statement = kernel.steps[-1].statement
        sign = source.find(b" = ", first, node.start)
        if sign >= 0 and statement.start >= first:
            indent = indent_at(source, statement.start) or ""
            edits.append(TextEdit(sign + 2, sign + 3, f"{newline_of(source)}{indent}    ".encode()))
    return edits
