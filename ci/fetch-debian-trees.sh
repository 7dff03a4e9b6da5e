#!/usr/bin/env bash
# Download the PyTorch source archives that Debian carries; each one holds every MPS kernel.
#
#   ci/fetch-debian-trees.sh DIR [SUITE ...]     suites default to: bookworm (1.13.1) trixie (2.6.0)
#
# Needs a Debian machine with apt. Nothing of the system's apt configuration is changed: the package
# lists live in DIR/apt. An archive that is already in DIR is not downloaded again.
set -euo pipefail

die() { printf 'fetch-debian-trees: %s\n' "$*" >&2; exit 2; }

[ $# -ge 1 ] || die "usage: ci/fetch-debian-trees.sh DIR [SUITE ...]"
mkdir -p "$1" || die "cannot create $1"
dir=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- bookworm trixie
command -v apt-get >/dev/null || die "apt-get is not on this machine; use 'patchkit checkout VERSION' instead"

# The mirror is the one this machine already uses for Debian.
# shellcheck disable=SC2016  # the format is apt's, not the shell's
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 2>/dev/null | grep -v security | sort -u | head -n 1)
if [ -z "$mirror" ]; then
    mirror=$(sed -n 's/^URIs: *\(.*\)$/\1/p; s/^deb [^h]*\(http[^ ]*\) .*/\1/p' \
        /etc/apt/sources.list /etc/apt/sources.list.d/debian.* 2>/dev/null | grep -v security | head -n 1)
fi
[ -n "$mirror" ] || die "no Debian mirror is configured in /etc/apt"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

for suite in "$@"; do
    if compgen -G "$dir/$suite/pytorch_*.orig.tar.*" >/dev/null && [ -e "$dir/$suite/.complete" ]; then
        echo "$suite: already here: $(basename "$(compgen -G "$dir/$suite/pytorch_*.orig.tar.*" | head -n 1)")"
        continue
    fi
    lists=$dir/apt/$suite
    mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial" "$dir/$suite"
    echo "deb-src [signed-by=$keyring] $mirror $suite main" > "$lists/sources.list"
    apt=(apt-get -qq -o "Dir::Etc::SourceList=$lists/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$lists/lists" -o "Dir::Cache=$lists/cache" -o APT::Sandbox::User=root
        -o Acquire::Retries=3)
    "${apt[@]}" update || die "$suite: the package list cannot be read"
    (cd "$dir/$suite" && "${apt[@]}" source --download-only --tar-only pytorch) || die "$suite: the download failed"
    touch "$dir/$suite/.complete"
    echo "$suite: $(cd "$dir/$suite" && ls pytorch_*.orig.tar.*)"
done
