"""``patchkit explain``: describe a rule, with the kernels it is tested on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from patchkit.cli.look_options import color_option, stdout_look

if TYPE_CHECKING:
    from patchkit.scan.rules import Rule


@click.command(short_help="Describe a rule: why it matters, a failing and a passing kernel, the fix.")
@click.argument("rule", required=False)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output.",
)
@color_option
def command(rule: str | None, format_name: str, color: str) -> int:
    """Describe RULE: why it matters, a failing and a passing kernel, the fix, upstream references.

    RULE is an identifier or a name; without one, all rules are listed.

    \b
    Examples:
      patchkit explain
      patchkit explain MPS101
      patchkit explain lost-output
    """
    from patchkit.output._rule_page import rule_list, rule_page
    from patchkit.scan.rules import all_rules

    rules = all_rules() if rule is None else (find_rule(rule),)
    if format_name == "json":
        sys.stdout.write(_as_json(rules))
    elif rule is None:
        sys.stdout.write(rule_list(rules, stdout_look(color)))
    else:
        sys.stdout.write(rule_page(rules[0], stdout_look(color)))
    return 0


def find_rule(wanted: str) -> Rule:
    """Return the rule with this identifier, name or effect, in any case.

    Raises:
        UsageError: there is none; the message names the nearest, or all.
    """
    import difflib

    from patchkit.errors import UsageError
    from patchkit.scan.rules import all_rules

    rules = all_rules()
    named = {key.lower(): rule for rule in reversed(rules) for key in (rule.effect, rule.name, rule.id)}
    if wanted.lower() in named:
        return named[wanted.lower()]
    near = difflib.get_close_matches(wanted.lower(), named, 1)
    hint = (
        f"did you mean {named[near[0]].id}?" if near else f"there are {', '.join(rule.id for rule in rules)}."
    )
    raise UsageError(f"there is no rule {wanted}; {hint}")


def _as_json(rules: tuple[Rule, ...]) -> str:
    import json
    from dataclasses import asdict

    from patchkit.scan.rules import split_marks

    described = []
    for rule in rules:
        failing, marks = split_marks(rule)
        described.append({**asdict(rule), "failing": failing, "failing_lines": [mark.line for mark in marks]})
    return json.dumps({"schema": "patchkit-rules/1", "rules": described}, indent=2) + "\n"
