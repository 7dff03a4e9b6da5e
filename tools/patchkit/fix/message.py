"""The commit message of a patch, from findings and recipe (``templates/mail/message.j2``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from patchkit.errors import InputError
from patchkit.fix.recipes import Recipe
from patchkit.resources import templates_dir
from patchkit.scan.findings import Finding

if TYPE_CHECKING:
    import jinja2

_COLUMNS = 72
_OPS_IN_SUBJECT = 3


def commit_message(
    findings: Sequence[Finding],
    *,
    change: str,
    template: str,
    torch_version: str,
    tool_version: str,
    recipe: Recipe | None = None,
) -> tuple[str, str]:
    """Return subject and body of the commit that fixes ``findings``.

    Args:
        findings: at least one; all that the patch fixes.
        change: a sentence or two on what the edit does.
        template: name of the edit template.
        torch_version, tool_version: stand in the last line.
        recipe: adds its title, reason and references.

    Raises:
        InputError: ``findings`` is empty, or the template folder is incomplete.
    """
    if not findings:
        raise InputError("A patch without findings has nothing to say in its commit message.")
    overloads = _distinct([op for finding in findings for op in finding.ops])
    kernels = _distinct([finding.function for finding in findings])
    ops = _distinct([_op_name(overload) for overload in overloads])
    text = _message_template().render(
        title=f"MPS: {_lower(recipe.title)}" if recipe else _title(ops or kernels),
        ops=ops or kernels,
        overloads=overloads or ["none that native_functions.yaml names"],
        kernels=kernels,
        effects=_distinct([finding.effect for finding in findings]),
        layouts=_distinct([layout for finding in findings for layout in finding.layouts]),
        macos=_distinct([finding.macos for finding in findings]),
        why=recipe.why if recipe else "",
        change=change,
        references=[reference.url for reference in recipe.references] if recipe else [],
        template=template,
        recipe=recipe.name if recipe else "",
        torch_version=torch_version,
        tool_version=tool_version,
    )
    subject, _, body = text.partition("\n")
    return subject.strip(), body.strip("\n") + "\n"


def _title(names: Sequence[str]) -> str:
    shown = list(names[:_OPS_IN_SUBJECT])
    if len(names) > len(shown):
        shown.append(f"{len(names) - len(shown)} more")
    return f"MPS: write the caller's output in {_listed(shown, 'and')}"


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]


def _op_name(overload: str) -> str:
    """Return the op of an overload: ``addcmul`` for ``addcmul_`` and ``addcmul.out``."""
    name = overload.split(".")[0]
    return name if name.endswith("__") else name.removesuffix("_")


def _distinct(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _listed(names: Sequence[str], word: str) -> str:
    names = list(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def _fill(text: str, indent: str = "") -> str:
    import textwrap

    return textwrap.fill(
        " ".join(text.split()),
        _COLUMNS,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _named(key: str, names: Mapping[str, str]) -> str:
    return names.get(key, key)


@cache
def _message_template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates_dir() / "mail"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.filters |= {"fill": _fill, "listed": _listed, "named": _named}
    try:
        return environment.get_template("message.j2")
    except jinja2.TemplateNotFound as error:
        raise InputError(f"patchkit's own template mail/{error.name} is missing; install patchkit again.") from error
