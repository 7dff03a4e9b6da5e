"""Inputs that a kernel binds without gathering, so that they lie as the output does.

Some kernels of 2.1 to 2.14 pass ``gatherTensorData=false`` for an input too where the output is not contiguous: both
are then read and written in the order of the buffer, which is right only if they have the same layout. Once the output
goes through a contiguous temporary, such an input has to be gathered as well.
"""

from __future__ import annotations

from patchkit.fix.edits.guards import flag_arguments
from patchkit.fix.edits.kernel import Construction, Kernel, RefusedError, constructions
from patchkit.fix.edits.text import TextEdit, delete_lines
from patchkit.scan import syntax as s
from patchkit.scan.apple import placeholder_constructor
from patchkit.scan.engine import Engine
from patchkit.scan.walk import walk


def gathers_always(engine: Engine, placeholder: Construction) -> bool:
    """Whether a Placeholder gathers its tensor whatever happens."""
    argument = _gather_argument(engine, placeholder)
    return argument is None or (isinstance(argument, s.Literal) and argument.value is True)


def _gather_argument(engine: Engine, placeholder: Construction) -> s.Expr | None:
    constructor = placeholder_constructor(engine.machine)
    return flag_arguments(constructor, placeholder.arguments)[0] if constructor is not None else None


def dense_inputs(engine: Engine, kernel: Kernel) -> list[Construction]:
    """The Placeholders of the function, results left out, that do not always gather."""
    results = {site.start for site in engine.sites.values() if site.file == kernel.site.file}
    return [
        made
        for made in constructions(kernel.function.body)
        if made.arguments[1].start not in results and not gathers_always(engine, made)
    ]


def gather_inputs(engine: Engine, kernel: Kernel) -> list[TextEdit]:
    """Return the edits that make the inputs of a kernel gather, where its output was written without strides.

    Raises:
        RefusedError: the order in which the graph reads and writes depends on a memory format.
    """
    if shaped_by_format(kernel):
        raise RefusedError(
            "the graph's result has the order of a memory format here; a contiguous temporary would be in another"
        )
    if gathers_always(engine, kernel.placeholder):
        return []
    edits: dict[TextEdit, None] = {}
    for made in dense_inputs(engine, kernel):
        argument = _gather_argument(engine, made)
        switch = _switch(kernel, argument.name) if isinstance(argument, s.Name) else None
        if switch is None:
            what = kernel.text(argument) if argument is not None else ""
            raise RefusedError(
                f"the input `{kernel.text(made.arguments[1])}` is bound without gathering where `{what}` is false, in "
                "the same order as the output; a temporary for the output alone would mix the two orders"
            )
        edits[switch] = None
    return list(edits)


def shaped_by_format(kernel: Kernel) -> bool:
    """Whether the Placeholder is given a shape of its own in a kernel that permutes shapes for channels_last."""
    arguments = kernel.placeholder.arguments
    if len(arguments) < 3 or kernel.text(arguments[2]) in ("nil", "nullptr", "NULL"):
        return False
    if isinstance(arguments[2], s.Literal):
        return False
    return b"ChannelsLast" in kernel.function.text


def _switch(kernel: Kernel, flag: str) -> TextEdit | None:
    """The deletion of ``if (...) { flag = false; }`` after ``bool flag = true;``, where that is all that sets it."""
    declared, switches, sets = False, [], 0
    for node in walk(kernel.function.body):
        if isinstance(node, s.Declare) and node.name == flag:
            declared = isinstance(node.value, s.Literal) and node.value.value is True
        elif isinstance(node, s.Assign) and isinstance(node.target, s.Name) and node.target.name == flag:
            sets += 1
        elif isinstance(node, s.If) and not node.other and len(node.then) == 1 and _turns_off(node.then[0], flag):
            switches.append(node)
    if not declared or len(switches) != 1 or sets != 1:
        return None
    return delete_lines(kernel.source, switches[0].start, switches[0].end)


def _turns_off(statement: s.Stmt, flag: str) -> bool:
    if not isinstance(statement, s.Evaluate) or not isinstance(statement.value, s.Assign):
        return False
    target, value = statement.value.target, statement.value.value
    return isinstance(target, s.Name) and target.name == flag and isinstance(value, s.Literal) and value.value is False
