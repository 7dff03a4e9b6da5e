#!/usr/bin/env bash
# Unpack the archives that ci/fetch-debian-trees.sh left in DIR into DIR/src/VERSION.
#
#   ci/unpack-trees.sh DIR
#
# A tree that is already there is left as it is; one that is there was unpacked whole.
set -euo pipefail

if [ $# -ne 1 ] || [ ! -d "$1" ]; then echo "usage: ci/unpack-trees.sh DIR" >&2; exit 2; fi
cd "$1"
shopt -s nullglob
archives=(*/pytorch_*.orig.tar.*)
[ ${#archives[@]} -gt 0 ] || { echo "unpack-trees: $1 holds no SUITE/pytorch_*.orig.tar.*" >&2; exit 2; }
mkdir -p src
for archive in "${archives[@]}"; do
    version=${archive##*/pytorch_}
    version=${version%%[+~]*}
    version=${version%%.orig.*}
    if [ -d "src/$version" ]; then
        echo "$version: already here"
        continue
    fi
    rm -rf "src/.$version.partial"
    mkdir "src/.$version.partial"
    tar --extract --file="$archive" --directory="src/.$version.partial" --strip-components=1 --no-same-owner
    mv "src/.$version.partial" "src/$version"
    echo "$version: $(find "src/$version" -name '*.mm' -path '*/mps/*' | wc -l) MPS files"
done
