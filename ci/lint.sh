#!/usr/bin/env bash
# Lint the checkout with the tools of the active environment (pip install -e '.[dev]'); changes nothing.
#
#   ci/lint.sh
set -euo pipefail

cd "$(dirname "$0")/.."
failed=0
check() {
    echo "$ $*"
    "$@" || failed=1
}
check ruff check .
check ruff format --check .
check mypy
check mypy ci
check shellcheck .ci/run ci/*.sh
exit "$failed"
