#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bootstrap.sh LIST...: installs what scripts/packages/LIST.txt name and is missing, on Debian and on what descends from
# it. A line is a package, perhaps with the least version that serves, `libboost-dev (>= 1.81)`, or several, split by
# `|`, of which the first that there is serves. Where nothing can be installed it says what is missing and ends well:
# then the build goes on with what CMake finds. Needs neither root nor a network where nothing is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/packages"

lines() { sed -e 's/[[:space:]]*#.*//' -e '/^[[:space:]]*$/d' "${wanted[@]/%/.txt}" | sort -u; }
wanted=("$@")
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "bootstrap: there is no apt here to install packages; Debian's names of what is needed are:" >&2
  lines | sed 's/^/  /' >&2
  exit 0
fi

declare -A installed candidate
# Those of another architecture do not count: they are there for a cross compiler.
read_installed() {
  local native
  native="$(dpkg --print-architecture)"
  while read -r status architecture package version; do
    case "$status $architecture" in
      "installed $native" | "installed all") installed[$package]="$version" ;;
    esac
  done < <(dpkg-query -W -f '${db:Status-Status} ${Architecture} ${Package} ${Version}\n')
}
read_candidates() {
  candidate=()
  local package="" key value
  while read -r key value; do
    case "$key" in
      Candidate:) candidate[$package]="${value#(none)}" ;;
      *:) if [[ -z "$value" ]]; then package="${key%:}"; fi ;;
    esac
  done < <(lines | sed -e 's/([^)]*)//g' -e 's/|/ /g' | xargs -r apt-cache policy 2>/dev/null)
}
# first_of LINE TABLE: prints the first package of the line that TABLE has in a version that serves.
first_of() {
  local -n versions="$2"
  local alternative package least
  while read -r alternative; do
    package="${alternative%% *}"
    least="$(sed -n 's/.*(>= *\([^)]*\)).*/\1/p' <<<"$alternative")"
    if [[ -n "${versions[$package]:-}" ]] && dpkg --compare-versions "${versions[$package]}" ge "${least:-0}"; then
      echo "$package"
      return
    fi
  done < <(tr '|' '\n' <<<"$1" | sed 's/^ *//')
}
# What to install, and the lines for which this system has no package.
choose() {
  missing=() unknown=()
  local line package
  while read -r line; do
    if [[ -n "$(first_of "$line" installed)" ]]; then continue; fi
    package="$(first_of "$line" candidate)"
    if [[ -n "$package" ]]; then missing+=("$package"); else unknown+=("$line"); fi
  done < <(lines)
}

read_installed
choose  # before the slower question of what could be installed
if ((${#unknown[@]} == 0)); then
  exit 0
fi
as_root=()
if (($(id -u) != 0)); then
  as_root=(sudo)
fi
may_install=0
if (($(id -u) == 0)) || command -v sudo >/dev/null; then
  may_install=1
fi
read_candidates
choose
if ((${#unknown[@]} > 0 && may_install)); then
  # The lists of packages may be absent or old; fetching them costs time, so only where it is needed.
  "${as_root[@]}" apt-get update -q || true
  read_candidates
  choose
fi
if ((${#unknown[@]} > 0)); then
  printf 'bootstrap: this system has no package for: %s\n' "${unknown[@]}" >&2
fi
if ((${#missing[@]} == 0)); then
  exit 0
fi
if ((!may_install)); then
  echo "bootstrap: packages are missing, and there is neither root nor sudo to install them. As root, run:" >&2
  echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 0
fi

echo "bootstrap: installing ${missing[*]}"
install_missing() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
if ! install_missing >"$log" 2>&1; then
  "${as_root[@]}" apt-get update -q
  if ! install_missing >"$log" 2>&1; then
    cat "$log" >&2
    echo "bootstrap: apt-get could not install these packages; the build goes on with what CMake finds" >&2
  fi
fi
