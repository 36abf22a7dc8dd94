#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh SECONDS [TARGET...]: builds the fuzz targets and runs each for so long, one after the other, from the seeds of
# fuzz/corpus. Prints the executions of each. An input that breaks a claim is kept in build/fuzz/artifacts. What reached
# new code is kept in build/fuzz/corpus, where the next run goes on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ ! "${1:-}" =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: scripts/fuzz.sh SECONDS [TARGET...]" >&2
  exit 2
fi
seconds="$1"
shift

cmake --preset fuzz >/dev/null
targets=("$@")
if [[ ${#targets[@]} -eq 0 ]]; then
  mapfile -t targets < <(sed -n 's/^dovetail_add_fuzzer(\([a-z_]*\).*/\1/p' fuzz/CMakeLists.txt)
fi
cmake --build --preset fuzz -j "$(nproc)" --target "${targets[@]}"

# Files that the targets write are small and short-lived.
scratch="$(mktemp -d -p "$([[ -w /dev/shm ]] && echo /dev/shm || echo "${TMPDIR:-/tmp}")")"
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"

# What an input may take of memory is counted by the targets themselves (fuzz/support.h).
export ASAN_OPTIONS="${ASAN_OPTIONS:-allocator_may_return_null=1:detect_stack_use_after_return=0}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"

failed=0
for target in "${targets[@]}"; do
  corpus="build/fuzz/corpus/$target"
  artifacts="build/fuzz/artifacts/$target"
  log="build/fuzz/$target.log"
  mkdir -p "$corpus" "$artifacts"
  status=0
  "build/fuzz/fuzz/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -max_len=8192 -verbosity=1 \
    -print_final_stats=1 -artifact_prefix="$artifacts/" "$corpus" "fuzz/corpus/$target" >"$log" 2>&1 || status=$?
  executions="$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -1)"
  printf '%-20s %12s executions, exit %d\n' "$target" "${executions:-no}" "$status"
  if [[ "$status" -ne 0 ]]; then
    failed=$((failed + 1))
    { grep -v '^#' "$log" || true; } | tail -40
  fi
done
printf '%d of %d targets failed\n' "$failed" "${#targets[@]}"
[[ "$failed" -eq 0 ]]
