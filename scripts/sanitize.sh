#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and tests with clang: with AddressSanitizer and UBSan, and with ThreadSanitizer; then asks the command of both
# compilers for the same ids. The last line counts the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/stages.sh

# ThreadSanitizer needs its part of the address space; some kernels randomise into it.
fixed_addresses=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
  fixed_addresses=(setarch "$(uname -m)" -R)
fi

build asan
run_tests asan -- -LE 'integration|install|examples|slow'
run_tests asan -- -R '^integration_(command|bad_input|damage)$'

build tsan
run_tests tsan "${fixed_addresses[@]}" -- -LE 'integration|install|examples|slow'

build release dovetail_command
announce "ids: gcc and clang builds"
differ=0
"${fixed_addresses[@]}" python3 -B tests/integration/compare_ids.py build/release/tools/dovetail \
  build/tsan/tools/dovetail || differ=1
count 1 "$differ"
