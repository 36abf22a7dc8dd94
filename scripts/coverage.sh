#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# coverage.sh [--required | --uncovered FOLDER]: builds the libraries so that they count what runs (preset coverage),
# runs the unit tests, and prints lines and branches by folder. Fails where a test fails, or below 95 % of the lines of
# format/ or reader/plan/. With --required only these two folders and their own tests. With --uncovered it only lists,
# from the last run, the lines of FOLDER that never ran.
# Branches into exceptions, which every call has, do not count. COVERAGE_TESTS is a regular expression of the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build/coverage
if [[ "${1:-}" == "--uncovered" ]]; then
  exec python3 -B scripts/coverage_report.py "$build/coverage.json" --uncovered "${2:-}"
fi
folders=(format reader writer sources convert recover tfrecord inspect)
required=(format reader/plan)
tests="${COVERAGE_TESTS:-.}"
if [[ "${1:-}" == "--required" ]]; then
  folders=("${required[@]}")
  tests='^(format|mixing|plan|plan_numbers|random_plans)_test$'
elif (($# > 0)); then
  echo "usage: scripts/coverage.sh [--required | --uncovered FOLDER]" >&2
  exit 2
fi

jobs="$(nproc)"
cmake --preset coverage >/dev/null
mapfile -t programs < <(ctest --preset coverage -N -L '^unit$' -LE slow -R "$tests" |
  sed -n 's/^ *Test *#[0-9]*: \([a-z_0-9]*\).*/\1/p')
cmake --build --preset coverage -j "$jobs" --target "${programs[@]}"

find "$build" -name '*.gcda' -delete
failed=0
ctest --preset coverage -j "$jobs" --no-tests=error -L '^unit$' -LE slow -R "$tests" || failed=1

# The folders that hold what counts; tests count nothing.
objects=()
filters=()
for folder in "${folders[@]}"; do
  objects+=("$build/$folder")
  filters+=(--filter "$folder/")
done
gcovr --root . "${filters[@]}" --exclude '.*/generated/' --exclude-throw-branches \
  --exclude-unreachable-branches --gcov-ignore-parse-errors -j "$jobs" --json "$build/coverage.json" "${objects[@]}"
python3 -B scripts/coverage_report.py "$build/coverage.json" --least 95 "${required[@]}" || failed=1
exit "$failed"
