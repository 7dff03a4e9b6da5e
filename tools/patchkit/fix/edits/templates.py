"""Code from the templates in ``templates/edits``: rendered, indented, and broken at the file's column limit."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from patchkit.errors import InputError
from patchkit.resources import templates_dir

if TYPE_CHECKING:
    import jinja2

#: ``ColumnLimit`` of PyTorch's Objective-C++ (``.clang-format``); its continuation indent is 4.
COLUMNS = 120
_CONTINUED = "    "


def render(template: str, part: str, indent: str, newline: str = "\n", **names: object) -> bytes:
    """Render one part of an edit template as whole lines.

    Args:
        template: file name without suffix.
        part: a macro of the template that takes no arguments and reads ``names``.
        indent: white space before every line.
        newline: the file's line break.

    Raises:
        InputError: the installation is incomplete.
    """
    text = str(_template(template).render(part=part, **names))
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    broken = [piece for line in lines for piece in broken_line(indent + line)]
    return "".join(f"{line}{newline}" for line in broken).encode()


def render_inline(template: str, part: str, **names: object) -> str:
    """Render one part of an edit template as an expression on one line."""
    return " ".join(str(_template(template).render(part=part, **names)).split())


def broken_line(line: str) -> list[str]:
    """Break a declaration or assignment that is too long as clang-format does: after ``=``, before ``?``."""
    if len(line) <= COLUMNS:
        return [line]
    indent = re.match(r"\s*", line)
    lead = (indent.group() if indent else "") + _CONTINUED
    head, sign, value = line.partition(" = ")
    if not sign:
        return [line]
    if len(lead) + len(value) <= COLUMNS:
        return [head + " =", lead + value]
    test, question, arms = value.partition(" ? ")
    then, colon, other = arms.partition(" : ")
    if question and colon:
        return [f"{head} = {test}", f"{lead}? {then}", f"{lead}: {other}"]
    return [line]


@cache
def _template(name: str) -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates_dir() / "edits"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    try:
        return environment.get_template(f"{name}.j2")
    except jinja2.TemplateNotFound as error:
        raise InputError(f"patchkit's own template edits/{error.name} is missing; install patchkit again.") from error
