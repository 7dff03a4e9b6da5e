"""JUnit XML, one test suite for each reproducer."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from patchkit.regress.results import (
    BAD,
    CRASHED,
    ERROR,
    EXPECTED_FAILURE,
    SKIPPED,
    TIMEOUT,
    Case,
    Outcome,
    Run,
)

# What XML 1.0 cannot hold, such as the escape character of a coloured log.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(run: Run) -> str:
    """Return the XML document; what was tested is in each suite's properties."""
    root = ElementTree.Element(
        "testsuites",
        name=_clean(run.subject.label),
        tests=str(sum(len(outcome.cases) for outcome in run.outcomes)),
        failures=str(run.count(*_FAILURES)),
        errors=str(run.count(*_ERRORS)),
        skipped=str(run.count(SKIPPED, EXPECTED_FAILURE)),
        time=f"{run.seconds:.3f}",
    )
    for outcome in run.outcomes:
        _suite(root, outcome, run)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


_ERRORS = (CRASHED, TIMEOUT, ERROR)
_FAILURES = tuple(status for status in BAD if status not in _ERRORS)


def _suite(root: ElementTree.Element, outcome: Outcome, run: Run) -> None:
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=outcome.reproducer,
        tests=str(len(outcome.cases)),
        failures=str(outcome.count(*_FAILURES)),
        errors=str(outcome.count(*_ERRORS)),
        skipped=str(outcome.count(SKIPPED, EXPECTED_FAILURE)),
        time=f"{outcome.seconds:.3f}",
    )
    properties = ElementTree.SubElement(suite, "properties")
    facts = {"device": run.subject.device, "forced_pre15": run.subject.forced, **run.subject.facts}
    facts |= {"simulate": run.subject.simulate, "references": " ".join(outcome.references)}
    for name, value in facts.items():
        ElementTree.SubElement(properties, "property", name=name, value=_clean(str(value)))
    for case in outcome.cases:
        _case(suite, case)


def _case(suite: ElementTree.Element, case: Case) -> None:
    page, _, test = case.name.partition("::")
    element = ElementTree.SubElement(
        suite,
        "testcase",
        classname=page.removesuffix(".py").replace("/", "."),
        name=_clean(test or page),
        time=f"{case.seconds:.4f}",
    )
    if case.status in (SKIPPED, EXPECTED_FAILURE):
        message = case.message if case.status == SKIPPED else f"expected failure: {case.message}"
        ElementTree.SubElement(element, "skipped", message=_clean(message))
    elif case.status in BAD:
        tag = "error" if case.status in _ERRORS else "failure"
        problem = ElementTree.SubElement(element, tag, type=case.status, message=_clean(case.message))
        problem.text = _clean(case.log)


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
