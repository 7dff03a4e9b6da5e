#!/usr/bin/env bash
# Make a virtual environment with patchkit, editable, and all that tests and lints it.
#
#   ci/install.sh VENV [PYTHON]     PYTHON defaults to python3
set -euo pipefail

[ $# -ge 1 ] || { echo "usage: ci/install.sh VENV [PYTHON]" >&2; exit 2; }
venv=$1
python=${2:-python3}
cd "$(dirname "$0")/.."

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "install: $python is older than 3.10" >&2; exit 2; }
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --editable '.[dev]'
"$venv/bin/python" -m pip check
"$venv/bin/patchkit" --version
