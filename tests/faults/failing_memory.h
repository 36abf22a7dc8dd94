// SPDX-License-Identifier: Apache-2.0
// Allocations that fail when a test says so. The program that links this has its `operator new`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <dovetail/error.h>

#include "tests/support/fails.h"
#include "tests/support/files.h"

namespace dovetail::test {

/// While it lives, the n-th allocation fails, from 0; if it lasts, so do all later ones.
///
/// Threads: allocations of all threads count.
class AllocationFails {
 public:
  AllocationFails(std::int64_t n, bool lasts);
  AllocationFails(const AllocationFails&) = delete;
  AllocationFails& operator=(const AllocationFails&) = delete;
  ~AllocationFails();

  /// Whether there were so many.
  static bool struck() noexcept;
};

/// While it lives, allocations of this thread neither fail nor count: for what the test itself
/// does.
class AllocationsSpared {
 public:
  AllocationsSpared() noexcept;
  AllocationsSpared(const AllocationsSpared&) = delete;
  AllocationsSpared& operator=(const AllocationsSpared&) = delete;
  ~AllocationsSpared();
};

/// Runs `work`, which gives an error or nothing, with every allocation failing in turn. `settle` is
/// called after each run.
template <class Work, class Settle>
void with_every_failure(bool lasts, Work work, Settle settle) {
  const std::size_t descriptors = open_descriptors();
  for (std::int64_t n = 0; !::testing::Test::HasFailure(); ++n) {
    ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                 ::testing::Message() << "allocation " << n << (lasts ? " and later" : ""));
    Result<void> done;
    {
      const AllocationFails armed(n, lasts);
      try {
        done = work();
      } catch (const std::bad_alloc&) {
        done = Error(Errc::closed, "an exception left the library");
      }
    }
    const bool struck = AllocationFails::struck();
    if (!struck) {
      EXPECT_TRUE(done.has_value()) << done.error().to_string();
    }
    if (!done.has_value()) {
      EXPECT_THAT(done, Fails(boost::system::errc::not_enough_memory));
    }
    settle(done.has_value());
    EXPECT_EQ(open_descriptors(), descriptors) << "a file stayed open";
    if (!struck) {
      EXPECT_GT(n, 10);
      return;
    }
  }
}

template <class Work, class Settle>
void with_every_failure(Work work, Settle settle) {
  with_every_failure(false, work, settle);
  with_every_failure(true, work, settle);
}

}  // namespace dovetail::test
