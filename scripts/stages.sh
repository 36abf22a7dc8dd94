# SPDX-License-Identifier: Apache-2.0
# For test.sh and sanitize.sh, which source it from the root of the project: builds, runs tests, and counts them.

# Real input, for the tests that want some; they are skipped without it.
if [[ -z "${DOVETAIL_TEST_DATA:-}" && -d ../shared/data ]]; then
  DOVETAIL_TEST_DATA="$(cd ../shared/data && pwd)"
  export DOVETAIL_TEST_DATA
fi

jobs="$(nproc)"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT

announce() { printf '\n=== %s (%d s)\n' "$1" "$SECONDS"; }

# build PRESET [TARGET...]: with WERROR=ON warnings are errors; without it, as the folder was configured.
build() {
  announce "build: $*"
  local preset="$1" targets=()
  shift
  if (($# > 0)); then
    targets=(--target "$@")
  fi
  cmake --preset "$preset" ${WERROR:+-DDOVETAIL_WERROR="$WERROR"} >/dev/null
  cmake --build --preset "$preset" -j "$jobs" "${targets[@]}"
}

# run_tests PRESET [WRAPPER...] -- CTEST_ARGUMENTS...: a failing test does not keep the rest from running.
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

# count MORE FAILED: prints the last lines, about all tests that ran and MORE, of which FAILED did; fails if any failed.
count() {
  announce "done"
  awk -v total="$1" -v failed="$2" '
    # "98% tests passed, 1 tests failed out of 50", and a line per skipped test further down.
    / tests passed, / { failed += $4; total += $NF }
    /^[ \t]*[0-9]+ - .*\(Skipped\)/ { skipped++ }
    END {
      if (skipped) printf "%d skipped\n", skipped
      printf "%d passed, %d failed\n", total - failed - skipped, failed
      exit failed > 0 || total == 0
    }' "$log"
}
