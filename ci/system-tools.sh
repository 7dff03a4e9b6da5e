#!/usr/bin/env bash
# Install the programs that the other scripts here call, where they are missing.
#
#   ci/system-tools.sh
#
# On Debian or Ubuntu as root it installs them; anywhere else it names what is missing and exits with 2.
set -euo pipefail

die() { printf 'system-tools: %s\n' "$*" >&2; exit 2; }

packages=()
need() { command -v "$1" >/dev/null || packages+=("$2"); }
need git git
need patch patch
need xz xz-utils
need dpkg-source dpkg-dev
need python3 python3
python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)

if [ ${#packages[@]} -eq 0 ]; then
    echo "git, patch, xz, dpkg-source and python3 with venv are here"
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    die "install these first: ${packages[*]}"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update || die "apt-get update failed"
apt-get -qq install --yes --no-install-recommends "${packages[@]}" >/dev/null || die "cannot install: ${packages[*]}"
echo "installed: ${packages[*]}"
