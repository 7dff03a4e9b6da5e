#!/usr/bin/env bash
# Run the tests that need a package registry, in the active environment.
#
#   ci/network-tests.sh
set -euo pipefail

cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python -m pytest -q -m network --junitxml="$work/report.xml"
python ci/require_tests.py "$work/report.xml"
