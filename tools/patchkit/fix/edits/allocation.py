"""A tensor the kernel makes itself, in another layout than the graph writes: made contiguous where it is made."""

from __future__ import annotations

from patchkit.fix.edits.copy_back import Edits
from patchkit.fix.edits.inputs import shaped_by_format
from patchkit.fix.edits.kernel import Kernel, RefusedError
from patchkit.fix.edits.templates import render_inline
from patchkit.fix.edits.text import TextEdit
from patchkit.scan import syntax as s

TEMPLATE = "contiguous_allocation"


def contiguous_allocation(kernel: Kernel) -> Edits:
    """Make ``at::empty_like(x)`` of a fresh result contiguous.

    Raises:
        RefusedError: the tensor is not made by a plain ``empty_like`` in this function.
    """
    refused = RefusedError(f"`{kernel.site.text}` is not made by a plain at::empty_like in this function")
    if not isinstance(kernel.tensor, s.Name) or shaped_by_format(kernel):
        raise refused
    declared = _declaration(kernel, kernel.tensor.name)
    if declared is None or "&" in declared.type:
        raise refused
    value = declared.value
    if not isinstance(value, s.Call) or getattr(value.callee, "name", "") != "empty_like":
        raise refused
    text = kernel.text(value)
    if not 1 <= len(value.arguments) <= 2 or "emory" in text:
        raise refused
    arguments = [kernel.text(argument) for argument in value.arguments]
    wanted = render_inline(TEMPLATE, "allocation", callee=kernel.text(value.callee), arguments=arguments)
    return Edits(TEMPLATE, (TextEdit(value.start, value.end, wanted.encode()),))


def _declaration(kernel: Kernel, name: str) -> s.Declare | None:
    """The declaration that a name means where the Placeholder is made: the innermost one."""
    for step in reversed(kernel.steps):
        for statement in reversed(step.statements[: step.index]):
            if isinstance(statement, s.Declare) and statement.name == name:
                return statement
    return None
