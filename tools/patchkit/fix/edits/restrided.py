"""A kernel that gives the caller's tensor new strides so that it can be written: the strides are left alone instead.

``empty_tensor_restride`` on an output changes the caller's tensor, or, where a structured wrapper passes a proxy or the
strides were asked for, what the caller was promised. With a temporary at the Placeholder it is not needed.
"""

from __future__ import annotations

from collections.abc import Iterator

from patchkit.fix.edits.kernel import Kernel, RefusedError, braced
from patchkit.fix.edits.text import TextEdit, delete_lines
from patchkit.scan import syntax as s
from patchkit.scan.walk import walk

KEEP_STRIDES = "keep_strides"


def without_restride(kernel: Kernel) -> list[TextEdit]:
    """Return the edits that delete every ``empty_tensor_restride`` of the tensor handed to the Placeholder.

    Raises:
        RefusedError: there is none, or one is part of a larger statement.
    """
    tensor = kernel.text(kernel.tensor)
    edits = [_deletion(kernel, statement) for statement in _restrides(kernel, kernel.function.body, tensor)]
    if not edits:
        raise RefusedError(f"`{tensor}` gets other strides in a way no template covers")
    return edits


def _restrides(kernel: Kernel, statements: list[s.Stmt], tensor: str) -> Iterator[s.Stmt]:
    """The statements that do nothing but restride the tensor, with the condition around them."""
    for statement in statements:
        if _is_restride(kernel, statement, tensor):
            yield statement
        elif isinstance(statement, s.If) and not statement.other and len(statement.then) == 1:
            yield from [statement] if _is_restride(kernel, statement.then[0], tensor) else []
        elif isinstance(statement, s.Block):
            yield from _restrides(kernel, statement.body, tensor)
        elif any(_calls_restride(kernel, node, tensor) for node in walk(statement)):
            raise RefusedError(f"`{tensor}` gets other strides in a way no template covers")


def _is_restride(kernel: Kernel, statement: s.Stmt, tensor: str) -> bool:
    return isinstance(statement, s.Evaluate) and _calls_restride(kernel, statement.value, tensor)


def _calls_restride(kernel: Kernel, node: object, tensor: str) -> bool:
    return (
        isinstance(node, s.Call)
        and isinstance(node.callee, s.Member)
        and node.callee.name == "empty_tensor_restride"
        and kernel.text(node.callee.object) in (f"{tensor}.unsafeGetTensorImpl()", f"{tensor}.getIntrusivePtr()")
    )


def _deletion(kernel: Kernel, statement: s.Stmt) -> TextEdit:
    deletion = delete_lines(kernel.source, statement.start, statement.end)
    if deletion is None or not braced(kernel.source, statement):
        raise RefusedError("the strides are changed inside a larger statement")
    return deletion
