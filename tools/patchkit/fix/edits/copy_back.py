"""The form upstream takes: a contiguous temporary at the output Placeholder, copied back right after the run.

As in PR 124442 (addcmul, addcdiv) and PR 165267 (random ops).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from patchkit.fix.edits import inputs
from patchkit.fix.edits.guards import guard_for
from patchkit.fix.edits.kernel import Kernel, RefusedError, Step, braced
from patchkit.fix.edits.names import flag_name, temporary_name
from patchkit.fix.edits.templates import COLUMNS, render
from patchkit.fix.edits.text import TextEdit, indent_at, line_end, line_start, newline_of
from patchkit.scan import syntax as s
from patchkit.scan.engine import Engine
from patchkit.scan.slicing import names as names_in
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
    made_if = _made_if(kernel)
    conditional = any(step.conditional for step in inner) or made_if != ""
    _check_scopes(kernel, level)
    if _also_fed(kernel):
        raise RefusedError("the same Placeholder is also an input of the graph")
    tensor = kernel.text(kernel.tensor)
    temporary = temporary_name(kernel, taken)
    flag = flag_name(kernel, guard.flag, taken | {temporary}, alone=alone)
    names: dict[str, object] = {
        "tensor": tensor,
        "temporary": temporary,
        "flag": flag,
        "condition": guard.of(tensor),
        "made_if": made_if,
    }
    template = CONDITIONAL if conditional else TEMPLATE
    edits = [_before(kernel, outer.statement, template, "before", names)]
    if conditional:
        edits.append(_before(kernel, kernel.steps[-1].statement, template, "make", names))
    edits += _replace(kernel, temporary)
    for run in kernel.runs:
        edits.append(insert_after(kernel, run[-1], template, "after", names))
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


def _made_if(kernel: Kernel) -> str:
    """The condition inside the statement that decides about the Placeholder: ``c`` in ``c ? Placeholder(...) : x``."""
    start = kernel.tensor.start
    for node in walk(kernel.steps[-1].statement):
        if isinstance(node, s.Conditional) and not kernel.tensor.start <= node.start < kernel.tensor.end:
            test = kernel.text(node.test)
            if node.then.start <= start < node.then.end:
                return test if isinstance(node.test, (s.Name, s.Call, s.Unary)) else f"({test})"
            if node.other.start <= start < node.other.end:
                return f"!{test}" if isinstance(node.test, (s.Name, s.Call)) else f"!({test})"
    return ""


def _also_fed(kernel: Kernel) -> bool:
    """Whether the Placeholder of the result is put among the graph's inputs as well."""
    variable = kernel.placeholder.variable
    for run in kernel.runs:
        feeds = _feeds(run[-1].statement)
        if feeds is None or not variable:
            continue
        if variable in names_in(feeds):
            return True
        holder = feeds.name if isinstance(feeds, s.Name) else ""
        for node in walk(kernel.function.body):
            put: list[s.Expr] = []
            if isinstance(node, s.Declare) and node.name == holder and node.value is not None:
                put = [node.value]
            elif isinstance(node, s.Assign) and holder in names_in(node.target):
                put = [node.target, node.value]
            elif isinstance(node, s.Message) and holder in names_in(node.receiver):
                put = node.arguments
            if any(variable in names_in(expression) for expression in put):
                return True
    return False


def _feeds(run: s.Stmt) -> s.Expr | None:
    for node in walk(run):
        name = getattr(node.callee, "name", "") if isinstance(node, s.Call) else ""
        if isinstance(node, s.Call) and name == "runMPSGraph" and len(node.arguments) > 3:
            return node.arguments[2]
        if isinstance(node, s.Call) and name == "executeMPSGraph" and len(node.arguments) > 2:
            return node.arguments[1]
        if isinstance(node, s.Message) and "feeds" in node.selector.split(":"):
            return node.arguments[node.selector.split(":").index("feeds")]
    return None


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
        _check_blocks(kernel, run, level)
        for number, step in enumerate(run[level:]):
            first = kernel.steps[level].index if number == 0 else 0
            if used & _declared(step.statements[first : step.index]):
                raise RefusedError("the tensor's name means another tensor where the graph runs")
            if _assigned(step.statements[first : step.index], used):
                raise RefusedError("the tensor is pointed at another one between Placeholder and run")


def _check_blocks(kernel: Kernel, run: tuple[Step, ...], level: int) -> None:
    """Refuse where a copy after the run would wait for the queue it runs on, or could not see the temporary."""
    for outer, step in pairwise(run):
        if isinstance(step.inside, s.Lambda) and "dispatch_sync" in kernel.text(outer.statement)[:200]:
            raise RefusedError("the graph runs on the stream's queue, where a copy would wait for itself")
    if any(isinstance(step.inside, s.Lambda) for step in run[level + 1 :]):
        raise RefusedError("the graph runs in a lambda that the Placeholder is made outside of")


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


def insert_after(kernel: Kernel, run: Step, template: str, part: str, names: dict[str, object]) -> TextEdit:
    """Put a part of a template on the line after the statement that runs the graph.

    Raises:
        RefusedError: the statement shares its line or has no braces around it.
    """
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
    """Hand the Placeholder the temporary; break the line after ``=``, or join it again, as its new length asks for."""
    node, source = kernel.tensor, kernel.source
    edits = [TextEdit(node.start, node.end, replacement.encode())]
    statement = kernel.steps[-1].statement
    indent = indent_at(source, statement.start) or ""
    growth = len(replacement) - (node.end - node.start)
    first, last = line_start(source, node.start), line_end(source, node.end)
    line = source[first:last].rstrip().decode("utf-8", "replace")
    sign = source.find(b" = ", first, node.start)
    broken = re.compile(rb" =\r?\n[ \t]+(?=[^\n]*\Z)").search(source, statement.start, node.start)
    if len(line) + growth > COLUMNS and sign >= 0 and statement.start >= first:
        edits.append(TextEdit(sign + 2, sign + 3, f"{newline_of(source)}{indent}    ".encode()))
    elif broken is not None and line.endswith(";"):
        head = source[line_start(source, broken.start()) : broken.start()].decode("utf-8", "replace")
        if len(head) + 3 + len(line.lstrip()) + growth <= COLUMNS:
            edits.append(TextEdit(broken.start(), broken.end(), b" = "))
    return edits
