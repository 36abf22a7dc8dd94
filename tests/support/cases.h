// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>

#include "tests/support/sanitizers.h"

namespace dovetail::test {

/// How many cases a long test runs: `all` where DOVETAIL_TEST_ALL is set, as `make soak` does;
/// otherwise some of them, fewer still in a build with a sanitizer.
struct Cases {
  std::uint64_t sanitized;
  std::uint64_t some;
  std::uint64_t all;

  std::uint64_t count() const {
    if (std::getenv("DOVETAIL_TEST_ALL") != nullptr) return all;
    return kSanitized ? sanitized : some;
  }
};

}  // namespace dovetail::test
