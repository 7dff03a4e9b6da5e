"""``patchkit explain``: describe a rule, with the kernels it is tested on, or one finding of a tree."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import click

from patchkit.cli.look_options import color_option, stdout_look
from patchkit.cli.tree_options import tree_options

if TYPE_CHECKING:
    from patchkit.scan.findings import Finding, ScanReport
    from patchkit.scan.rules import Rule
    from patchkit.source.tree import Tree


@click.command(short_help="Describe a rule, or one finding beside the nearest safe kernel.")
@click.argument("what", metavar="[RULE|FINDING]", required=False)
@tree_options
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output.",
)
@color_option
def command(
    what: str | None,
    target: str | None,
    version: str | None,
    source: str | None,
    remote: str | None,
    format_name: str,
    color: str,
) -> int:
    """Describe RULE: why it matters, a failing and a passing kernel, the fix, upstream references.

    RULE is an identifier or a name; without one, all rules are listed.

    FINDING is a fingerprint, or file:line as `patchkit scan` prints it, and needs the tree: it is shown with the
    nearest safe kernel of the same tree, the lines that differ marked.

    \b
    Examples:
      patchkit explain
      patchkit explain MPS101
      patchkit explain lost-output
      patchkit explain PointwiseOps.mm:49 ~/src/pytorch
    """
    if what is not None and (target or version or source):
        from patchkit.source import resolve

        tree = resolve(target, version=version, source=source, remote=remote)
        return _explain_finding(what, tree, format_name, color)
    if what is not None and is_finding_name(what):
        from patchkit.errors import UsageError

        raise UsageError(f"{what} names a finding; add its tree, or --version or --source.")

    from patchkit.output._rule_page import rule_list, rule_page
    from patchkit.scan.rules import all_rules

    rules = all_rules() if what is None else (find_rule(what),)
    if format_name == "json":
        sys.stdout.write(_as_json(rules))
    elif what is None:
        sys.stdout.write(rule_list(rules, stdout_look(color)))
    else:
        sys.stdout.write(rule_page(rules[0], stdout_look(color)))
    return 0


def is_finding_name(text: str) -> bool:
    """Say whether ``text`` has the form of a fingerprint or of ``file:line``."""
    return bool(re.fullmatch(r"[0-9a-f]{6,64}|.+:\d+(:\d+)?", text))


def find_finding(report: ScanReport, wanted: str) -> Finding:
    """Return the finding that a fingerprint (or the start of one) or ``file:line`` names.

    Raises:
        UsageError: there is none, or more than one; the message says what is there instead.
    """
    from patchkit.errors import UsageError

    place = re.fullmatch(r"(.+?):(\d+)(?::\d+)?", wanted)
    if place is None:
        found = [one for one in report.findings if len(wanted) >= 6 and one.fingerprint.startswith(wanted)]
    else:
        file, line = place[1].replace("\\", "/"), int(place[2])
        found = [one for one in report.findings if _is_file(one.file, file) and one.line <= line <= one.end_line]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"{one.fingerprint[:12]} ({one.function}, {one.file}:{one.line})" for one in found[:4])
        raise UsageError(f"{wanted} names {len(found)} findings; give one fingerprint: {listed}.")
    raise UsageError(f"{report.root} has no finding {wanted}; {_instead(report, place)}")


def _is_file(path: str, wanted: str) -> bool:
    return path == wanted or path.endswith(f"/{wanted}") or wanted.endswith(f"/{path}")


def _instead(report: ScanReport, place: re.Match[str] | None) -> str:
    if place is not None:
        file, line = place[1], int(place[2])
        for site in report.cleared:
            if _is_file(site.file, file) and site.line == line:
                return f"the result there is safe: {site.detail or site.reason}."
        lines = sorted({str(one.line) for one in report.findings if _is_file(one.file, file)}, key=int)
        if lines:
            return f"that file has findings in the lines {', '.join(lines)}."
    return "`patchkit scan --format json` lists the fingerprints."


def _explain_finding(what: str, tree: Tree, format_name: str, color: str) -> int:
    from dataclasses import replace

    from patchkit.fix import is_fixable
    from patchkit.output._finding_page import finding_json, finding_page
    from patchkit.scan.cache import scan_with_ops
    from patchkit.scan.nearest import nearest_safe

    scanned = scan_with_ops(tree, fixable=is_fixable)
    finding = find_finding(scanned.report, what)
    comparison = nearest_safe(tree, scanned.report, finding)
    if format_name == "json":
        sys.stdout.write(finding_json(finding, comparison))
    else:
        look = replace(stdout_look(color), overloads={one.name: one for one in scanned.spellings})
        sys.stdout.write(finding_page(finding, comparison, tree, look))
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
    hint = f"did you mean {named[near[0]].id}?" if near else f"there are {', '.join(rule.id for rule in rules)}."
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
