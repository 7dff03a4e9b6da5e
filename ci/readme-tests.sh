#!/usr/bin/env bash
# Run the README's own test command, word for word, in a copy of the checkout; no test run is a failure.
#
#   ci/readme-tests.sh
set -euo pipefail

cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ci/copy-checkout.sh "$work/checkout"
command=$(python3 ci/readme_commands.py --only pytest)
echo "$ $command"
# The environment of whoever runs this stays out, as on a fresh machine.
(
    cd "$work/checkout"
    env -u VIRTUAL_ENV -u PYTHONPATH -u PATCHKIT_TREES PYTEST_ADDOPTS="--junitxml=$work/report.xml" bash -ec "$command"
)
python3 ci/require_tests.py "$work/report.xml"
