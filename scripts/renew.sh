#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes anew what a new version of the format or of the order changes: the files of tests/golden, the seeds of the fuzz
# targets, and what docs/order.md shows as output of tests/integration/order.py and as vectors. The tables and
# sentences of its worked example are to be written anew by hand. Never to make a test pass.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake --preset asan >/dev/null
cmake --build --preset asan --target make_golden make_corpus
build/asan/tests/format/make_golden tests/golden
build/asan/fuzz/make_corpus fuzz/corpus
python3 tests/plan/check_order.py --renew tests/integration/order.py docs/order.md
git status --short
