#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh [format|compile|tidy|cppcheck]...: checks all sources without running them; all four by default. Whether they
# are formatted as `make format` does it, where clang-format 14 is; what clang warns of in every source (-Wall -Wextra
# -Wconversion -Wsign-conversion -Wshadow, each warning an error); and what clang-tidy by .clang-tidy and cppcheck find
# in libraries, tools and the Python module. Builds only generated headers, in build/check.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if (($# == 0)); then
  set -- format compile tidy cppcheck
fi
checks=()
for check in "$@"; do
  if [[ "$check" != format ]]; then
    checks+=("$check")
  elif command -v clang-format-14 >/dev/null; then
    git ls-files -z '*.h' '*.cc' | xargs -0 clang-format-14 --dry-run --Werror
  else
    echo "format: skipped, there is no clang-format-14"
  fi
done
if ((${#checks[@]} == 0)); then
  exit 0
fi

cmake --preset check >/dev/null
mapfile -t generated < <(ninja -C build/check -t targets all | sed -n 's/^\([a-z_\/]*\.pb\.h\): .*/\1/p')
cmake --build --preset check --target "${generated[@]}" >/dev/null

exec python3 -B scripts/static_checks.py build/check "${checks[@]}"
