"""The rules: one module each, with a kernel that is flagged and one that is right."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache

MARK = "// expect: "


@dataclass(frozen=True)
class Rule:
    """One way an MPS kernel loses its output.

    Args:
        id: ``MPS101`` style; never reused for another rule.
        name: short name in lower case with hyphens, such as ``lost-output``.
        effect: the effect of every finding of the rule: ``lost``, ``garbage``, ``misplaced``, ``dropped``,
            ``restrided`` or ``unwritten``.
        summary: one sentence saying what the kernel does wrong.
        why: what goes wrong in which release, in paragraphs separated by an empty line.
        fix: what a correct kernel does instead, in paragraphs.
        references: upstream pull requests, issues and files, as ``PR 124442: addcmul and addcdiv``.
        failing: an Objective-C++ kernel file that the rule flags; each line it flags ends in
            ``// expect: MPS101 output``, with the tensor that is lost there.
        passing: the same kernel, correct; nothing in it is flagged by any rule.
        native_functions: the entries of ``native_functions.yaml`` that name the kernels of the two files.
    """

    id: str
    name: str
    effect: str
    summary: str
    why: str
    fix: str
    references: tuple[str, ...]
    failing: str
    passing: str
    native_functions: str


@dataclass(frozen=True)
class Mark:
    """A line of a failing kernel that its rule flags, 1-based, and the tensor that is lost there."""

    line: int
    tensor: str


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return the ``RULE`` of every module in this package, sorted by identifier."""
    modules = (importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__))
    return tuple(sorted((module.RULE for module in modules), key=lambda rule: rule.id))


def split_marks(rule: Rule) -> tuple[str, tuple[Mark, ...]]:
    """Return the failing kernel of ``rule`` without its marks, and the marks."""
    plain, marks = [], []
    for number, line in enumerate(rule.failing.splitlines(), 1):
        code, found, tensor = line.partition(f"{MARK}{rule.id} ")
        plain.append(code.rstrip())
        if found:
            marks.append(Mark(number, tensor))
    return "\n".join(plain) + "\n", tuple(marks)
