"""Fail where a pytest run executed no test: ``ci/require_tests.py REPORT.xml [--no-skip WORD]``.

With ``--no-skip WORD`` a test that was skipped with WORD in its reason is a failure too.
"""

from __future__ import annotations

import argparse
import sys
import xml.etree.ElementTree as ET


def main(arguments: list[str]) -> int:
    """Print how many tests ran; return 1 if that is none, or one was skipped that must not be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report")
    parser.add_argument("--no-skip", metavar="WORD")
    options = parser.parse_args(arguments)
    cases = list(ET.parse(options.report).iter("testcase"))
    skipped = {case.get("name"): skip.get("message", "") for case in cases for skip in case.iter("skipped")}
    ran = len(cases) - len(skipped)
    print(f"{ran} tests ran, {len(skipped)} did not")
    banned = {name: reason for name, reason in skipped.items() if options.no_skip and options.no_skip in reason}
    for name, reason in banned.items():
        print(f"{name} must not be skipped: {reason}", file=sys.stderr)
    if not ran:
        print("no test ran", file=sys.stderr)
    return int(bool(banned) or not ran)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
