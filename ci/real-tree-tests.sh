#!/usr/bin/env bash
# Run the tests that read real PyTorch trees, in the active environment; a skipped tree is a failure.
#
#   ci/real-tree-tests.sh DIR     the folder that ci/fetch-debian-trees.sh and ci/unpack-trees.sh filled
set -euo pipefail

if [ $# -ne 1 ] || [ ! -d "$1" ]; then echo "usage: ci/real-tree-tests.sh DIR" >&2; exit 2; fi
PATCHKIT_TREES=$(cd "$1" && pwd)
export PATCHKIT_TREES
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python -m pytest -q -m real_tree --junitxml="$work/report.xml"
python ci/require_tests.py "$work/report.xml" --no-skip PATCHKIT_TREES
