#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bootstrap.sh [LIST]: installs the Debian packages of packages.txt, or of another list beside it, that are missing.
# Needs neither root nor a network where none is.
set -euo pipefail

list="$(dirname "${BASH_SOURCE[0]}")/${1:-packages.txt}"
mapfile -t wanted < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$list")

if ! command -v dpkg-query >/dev/null; then
  echo "bootstrap: this is no Debian system; install what $list names in your way, then run: make build" >&2
  exit 1
fi

installed="$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)"
missing=()
for package in "${wanted[@]}"; do
  grep -qxF "installed $package" <<<"$installed" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if (($(id -u) != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "bootstrap: missing packages, and neither root nor sudo to install them. As root, run:" >&2
    echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "bootstrap: installing ${missing[*]}"
install_missing() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}
# Package lists may be absent or old; fetching them costs time, so only where it is needed.
if ! install_missing >/dev/null 2>&1; then
  "${as_root[@]}" apt-get update -q
  install_missing
fi
