#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and tests everything: optimised with gcc, and with clang with AddressSanitizer and UBSan, and with
# ThreadSanitizer. A failing test does not keep the rest from running; the last line counts them all.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Real input, for the tests that want some; they are skipped without it.
if [[ -z "${DOVETAIL_TEST_DATA:-}" && -d ../shared/data ]]; then
  DOVETAIL_TEST_DATA="$(cd ../shared/data && pwd)"
  export DOVETAIL_TEST_DATA
fi

jobs="$(nproc)"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT

announce() { printf '\n=== %s (%d s)\n' "$1" "$SECONDS"; }

build() {
  announce "build: $1"
  cmake --preset "$1" >/dev/null
  cmake --build --preset "$1" -j "$jobs"
}

# run_tests PRESET [WRAPPER...] -- CTEST_ARGUMENTS...
run_tests() {
  local preset="$1" wrapper=()
  shift
  while [[ "$1" != "--" ]]; do
    wrapper+=("$1")
    shift
  done
  shift
  announce "test: $preset $*"
  # One more than there are cores: tests of what hangs and of what is killed mostly wait.
  "${wrapper[@]}" ctest --preset "$preset" -j "$((jobs + 1))" --no-tests=error "$@" 2>&1 | tee -a "$log" || true
}

# ThreadSanitizer needs its part of the address space; some kernels randomise into it.
fixed_addresses=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
  fixed_addresses=(setarch "$(uname -m)" -R)
fi

build release
run_tests release --

build asan
run_tests asan -- -LE 'integration|install|examples|slow'
run_tests asan -- -R '^integration_(command|bad_input|damage)$'

build tsan
run_tests tsan "${fixed_addresses[@]}" -- -LE 'integration|install|examples|slow'

announce "ids: gcc and clang builds"
same_ids=0
"${fixed_addresses[@]}" python3 -B tests/integration/compare_ids.py build/release/tools/dovetail \
  build/tsan/tools/dovetail || same_ids=1

announce "done"
awk -v extra_failed="$same_ids" '
  # "98% tests passed, 1 tests failed out of 50", and a line per skipped test further down.
  / tests passed, / { failed += $4; total += $NF }
  /^[ \t]*[0-9]+ - .*\(Skipped\)/ { skipped++ }
  END {
    failed += extra_failed; total += 1
    if (skipped) printf "%d skipped\n", skipped
    printf "%d passed, %d failed\n", total - failed - skipped, failed
    exit failed > 0 || total == 1
  }' "$log"
