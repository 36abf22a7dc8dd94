// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "reader/fetch/buffer_pool.h"
#include "reader/trace/stall_clock.h"

namespace dovetail::detail {
namespace {

TEST(BufferPoolTest, RoundsUpByAnEighthAtMostAndNeverDown) {
  for (std::size_t bytes = 1; bytes < 3'000'000; bytes += bytes / 7 + 1) {
    const std::size_t size = BufferPool::rounded(bytes);
    EXPECT_GE(size, bytes);
    if (bytes > 4096) {
      EXPECT_LE(size, bytes + bytes / 8 + 1);
    }
    EXPECT_EQ(BufferPool::rounded(size), size);
  }
}

TEST(BufferPoolTest, GivesAReturnedBufferOutAgain) {
  BufferPool pool(1 << 20);
  AlignedBuffer buffer = pool.take(10000);
  const std::byte* const data = buffer.data();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0u);
  pool.give_back(std::move(buffer));
  EXPECT_EQ(pool.used(), 0u);
  EXPECT_EQ(pool.take(10001).data(), data);
}

TEST(BufferPoolTest, KeepsUsedAndIdleTogetherWithinTheBudget) {
  BufferPool pool(64 << 10);
  AlignedBuffer first = pool.take(32 << 10);
  AlignedBuffer second = pool.take(24 << 10);
  EXPECT_TRUE(pool.fits(8 << 10));
  EXPECT_FALSE(pool.fits(9 << 10));
  pool.give_back(std::move(first));
  pool.give_back(std::move(second));
  EXPECT_EQ(pool.used(), 0u);
  EXPECT_TRUE(pool.fits(64 << 10));
  AlignedBuffer whole = pool.take(64 << 10);  // the idle ones have to go for it
  EXPECT_EQ(pool.used(), std::uint64_t{64} << 10);
  EXPECT_EQ(pool.peak(), std::uint64_t{64} << 10);
}

TEST(AlignedBufferTest, GivesTheSystemNoPageOfWhichAnotherHasAPart) {
  alignas(64) static std::byte memory[256];
  const auto offset = [](std::span<std::byte> pages) { return pages.data() - memory; };
  // Pages of 64 bytes stand for those of 4 KiB and of 64 KiB, which systems for Arm have.
  EXPECT_EQ(offset(whole_pages({memory + 1, 200}, 64)), 64);
  EXPECT_EQ(whole_pages({memory + 1, 200}, 64).size(), 128u);
  EXPECT_EQ(offset(whole_pages({memory, 256}, 64)), 0);
  EXPECT_EQ(whole_pages({memory, 256}, 64).size(), 256u);
  EXPECT_EQ(whole_pages({memory, 127}, 64).size(), 64u);
  EXPECT_TRUE(whole_pages({memory + 1, 62}, 64).empty());
  EXPECT_TRUE(whole_pages({memory + 1, 63}, 64).empty());
  EXPECT_TRUE(whole_pages({memory + 1, 126}, 64).empty());
}

TEST(StallClockTest, TimesAddUpAndGoToTheRightState) {
  using namespace std::chrono_literals;
  const StallClock::Clock::time_point start{};
  StallClock clock(start);
  clock.enter(Stall::storage, start + 5ns);
  clock.enter(Stall::decode, start + 7ns);
  clock.enter(Stall::storage, start + 10ns);
  const auto now = start + 20ns;
  EXPECT_EQ(clock.spent(Stall::filling, now), 5ns);
  EXPECT_EQ(clock.spent(Stall::storage, now), 12ns);
  EXPECT_EQ(clock.spent(Stall::decode, now), 3ns);
  EXPECT_EQ(clock.spent(Stall::slot, now), 0ns);
  EXPECT_EQ(clock.spent(Stall::consumer, now), 0ns);
}

}  // namespace
}  // namespace dovetail::detail
