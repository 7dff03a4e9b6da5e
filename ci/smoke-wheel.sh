#!/usr/bin/env bash
# Build the wheel and use it in empty environments outside the checkout.
#
#   ci/smoke-wheel.sh [PYTHON ...]     default: every python3.10 to python3.14 that runs here, else python3
#
# Needs the `build` package in the active environment. The wheel is built from the source distribution, so both are
# known to be complete. Leaves nothing behind, unless DIST names a folder for the two files.
set -euo pipefail

cd "$(dirname "$0")/.."
checkout=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dist=${DIST:-$work/dist}
die() { printf 'smoke-wheel: %s\n' "$*" >&2; exit 1; }

pythons=("$@")
if [ ${#pythons[@]} -eq 0 ]; then
    for minor in 10 11 12 13 14; do
        ! "python3.$minor" -c '' 2>/dev/null || pythons+=("python3.$minor")
    done
    [ ${#pythons[@]} -gt 0 ] || pythons=(python3)
fi

python -m build --outdir "$dist" . >"$work/build.log" 2>&1 || { cat "$work/build.log"; die "the build failed"; }
wheel=$(find "$dist" -name 'patchkit-*.whl')
echo "built $(basename "$wheel"), $(wc -c <"$wheel") bytes"
python ci/check_wheel.py "$wheel"

# Where the kernel lets us, the commands get no network at all.
offline=()
! unshare --net true 2>/dev/null || offline=(unshare --net)

for python in "${pythons[@]}"; do
    venv=$work/venv-$(basename "$python")
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet "$wheel"
    mkdir -p "$work/empty"
    (
        cd "$work/empty"
        unset PYTHONPATH VIRTUAL_ENV
        export PATCHKIT_CACHE=$work/cache
        patchkit() { "${offline[@]}" "$venv/bin/patchkit" "$@"; }
        where=$("$venv/bin/python" -c 'import patchkit; print(patchkit.__file__)')
        case $where in "$checkout"/*) die "$where is the checkout's, not the wheel's" ;; esac
        patchkit --version
        patchkit --help >/dev/null
        patchkit demo >demo.txt || die "patchkit demo failed: $(cat demo.txt)"
        grep -c '^0 findings; ' demo.txt >/dev/null || die "the demo does not end clean"
        patchkit explain MPS101 >explain.txt
        grep -q 'Placeholder' explain.txt || die "patchkit explain MPS101 does not explain"
        tree=$("$venv/bin/python" -c 'from patchkit.demo import demo_tree_path; print(demo_tree_path())')
        code=0
        patchkit scan "$tree" --format json >scan.json || code=$?
        [ "$code" -eq 1 ] || die "patchkit scan of the demo's tree exits with $code, not 1"
        "$venv/bin/python" -c 'import json; report = json.load(open("scan.json")); assert report["findings"], report'
        tail -n 1 <(grep 'findings' demo.txt)
    ) </dev/null || die "$python: failed"
    rm -rf "$work/empty"
    echo "$("$python" --version): the wheel works"
done
