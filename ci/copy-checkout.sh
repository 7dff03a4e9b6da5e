#!/usr/bin/env bash
# Copy what git would take of this checkout, uncommitted changes included, into a new folder.
#
#   ci/copy-checkout.sh DIR
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: ci/copy-checkout.sh DIR" >&2; exit 2; }
mkdir -p "$1"
into=$(cd "$1" && pwd)
[ -z "$(ls -A "$into")" ] || { echo "copy-checkout: $into is not empty" >&2; exit 2; }
cd "$(dirname "$0")/.."
git ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do
        [ ! -e "$file" ] || printf '%s\0' "$file"
    done |
    tar --create --null --files-from=- --file=- |
    tar --extract --file=- --directory="$into"
