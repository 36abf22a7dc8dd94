// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/parallel.h"

#include <atomic>
#include <new>
#include <vector>

#include <boost/system/errc.hpp>

#include "tests/support/fails.h"

namespace dovetail::detail {
namespace {

TEST(ForEachIndexTest, CallsEveryNumberOnce) {
  for (const unsigned threads : {0u, 1u, 2u, 7u, 64u}) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{1000}}) {
      std::vector<std::atomic<int>> calls(count);
      ASSERT_TRUE(for_each_index(count, threads, [&](std::size_t i) -> Result<void> {
        ++calls[i];
        return {};
      }));
      for (const auto& n : calls) ASSERT_EQ(n, 1) << count << " numbers, " << threads << " threads";
    }
  }
}

TEST(ForEachIndexTest, TheLowestFailureIsReportedWhateverTheTiming) {
  for (int round = 0; round < 200; ++round) {
    const auto done = for_each_index(100, 8, [](std::size_t i) -> Result<void> {
      if (i % 10 == 3) return Error(Errc::bad_length, std::to_string(i));
      return {};
    });
    ASSERT_FALSE(done);
    ASSERT_EQ(done.error().detail(), "3");
  }
}

TEST(ForEachIndexTest, RunningOutOfMemoryIsAnError) {
  EXPECT_THAT(for_each_index(4, 2,
                             [](std::size_t i) -> Result<void> {
                               if (i == 2) throw std::bad_alloc();
                               return {};
                             }),
              test::Fails(boost::system::errc::not_enough_memory));
}

}  // namespace
}  // namespace dovetail::detail
