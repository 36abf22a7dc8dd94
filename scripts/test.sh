#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds all, optimised, and runs all tests; the last line counts them. WERROR=ON makes warnings errors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/stages.sh

build test
run_tests test --
count 0 0
