#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh [compile|tidy|cppcheck]...: checks all sources without running them; all three by default. What clang warns
# of in every source (-Wall -Wextra -Wconversion -Wsign-conversion -Wshadow, each warning an error), and what clang-tidy
# by .clang-tidy and cppcheck find in libraries, tools and the Python module. Builds only generated headers, in
# build/check.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake --preset check >/dev/null
mapfile -t generated < <(ninja -C build/check -t targets all | sed -n 's/^\([a-z_\/]*\.pb\.h\): .*/\1/p')
cmake --build --preset check --target "${generated[@]}" >/dev/null

if (($# == 0)); then
  set -- compile tidy cppcheck
fi
exec python3 -B scripts/static_checks.py build/check "$@"
