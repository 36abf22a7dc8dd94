// SPDX-License-Identifier: Apache-2.0
// The soak's criterion tells growth from noise, and its measures see what they name.
#include "tests/soak/footprint.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/advice.h"
#include "tests/support/sanitizers.h"

namespace dovetail::test {
namespace {

constexpr Measure kHeap = kMeasures[1];

/// `grows` bytes more with every sample, upon noise of up to `noise`.
std::vector<Footprint> samples(std::size_t count, std::int64_t grows, std::int64_t noise, std::uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<std::int64_t> draw(0, noise);
  std::vector<Footprint> found(count);
  for (std::size_t i = 0; i < count; ++i)
    found[i].heap = 1'000'000 + static_cast<std::int64_t>(i) * grows + draw(random);
  return found;
}

TEST(GrowthTest, NoiseOfAnySizeIsNone) {
  std::size_t found = 0;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    for (const std::size_t count : {kFewestSamples, 4 * kFewestSamples}) {
      found += growth_of(kHeap, samples(count, 0, 100 << 20, seed)).grown ? 1 : 0;
    }
  }
  EXPECT_LE(found, 1u);
}

TEST(GrowthTest, WarmingUpIsNone) {
  std::vector<Footprint> warming = samples(64, 0, 1000);
  for (std::size_t i = 0; i < 16; ++i) warming[i].heap -= static_cast<std::int64_t>(16 - i) * 1'000'000;
  EXPECT_FALSE(growth_of(kHeap, warming).grown);
}

TEST(GrowthTest, APeakThatGoesIsNone) {
  std::vector<Footprint> peak = samples(64, 0, 1000);
  for (std::size_t i = 48; i < 63; ++i) peak[i].heap += 50'000'000;
  EXPECT_FALSE(growth_of(kHeap, peak).grown);
}

TEST(GrowthTest, WhatExceedsTheNoiseIsFound) {
  for (const std::size_t count : {kFewestSamples, 1000 * kFewestSamples}) {
    const auto rounds = static_cast<std::int64_t>(count / 4);
    const std::int64_t noise = 100'000;
    // From the end of the second quarter to the beginning of the last it grows by as much.
    EXPECT_TRUE(growth_of(kHeap, samples(count, (noise + kHeap.tolerance) / rounds + 1, noise)).grown);
  }
}

TEST(GrowthTest, WhatCouldHideIsWhatItSays) {
  const std::vector<Footprint> noisy = samples(64, 0, 100'000);
  const Growth growth = growth_of(kHeap, noisy);
  EXPECT_GE(growth.hidden_at_most, kHeap.tolerance);
  EXPECT_LE(growth.hidden_at_most, 200'000 + kHeap.tolerance);
  std::vector<Footprint> more = noisy;
  for (std::size_t i = 48; i < 64; ++i) more[i].heap += growth.hidden_at_most + 1;
  EXPECT_TRUE(growth_of(kHeap, more).grown);
}

TEST(GrowthTest, OneDescriptorThatStaysIsFound) {
  std::vector<Footprint> found(64);
  for (std::size_t i = 0; i < found.size(); ++i) found[i].descriptors = i < 40 ? 10 : 11;
  EXPECT_TRUE(report_growth(found).grown);
}

TEST(FootprintTest, WorkersOfTheKernelAreNoThreadsOfOurs) {
  const std::int64_t before = Footprint::now().threads;
  std::promise<void> named;
  std::promise<void> end;
  std::thread worker([&named, ended = end.get_future()]() {
    ::prctl(PR_SET_NAME, "iou-wrk-1");
    named.set_value();
    ended.wait();
  });
  named.get_future().wait();
  if (!kThreadSanitized) {  // it starts one of its own
    EXPECT_EQ(Footprint::now().threads, before);
  }
  end.set_value();
  worker.join();
}

TEST(FootprintTest, SettlesWhenWhatIsPinnedGoes) {
  if (kSanitized) GTEST_SKIP() << "sanitizers lock no memory";
  const std::int64_t before = Footprint::now().pinned;
  void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  ASSERT_EQ(::mlock(page, 4096), 0);
  EXPECT_GT(Footprint::settled(before, std::chrono::milliseconds(1)).pinned, before);
  std::thread late([page]() {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ::munmap(page, 4096);
  });
  EXPECT_EQ(Footprint::settled(before, std::chrono::hours(1)).pinned, before);
  late.join();
}

TEST(FootprintTest, SeesWhatIsTaken) {
  const Footprint before = Footprint::now();
  EXPECT_GT(before.heap, 0);

  std::vector<char> memory(32 << 20, 'x');
  asm volatile("" : : "r"(memory.data()) : "memory");  // a compiler may leave out memory that nobody reads
  if (!kThreadSanitized) {
    EXPECT_GE(Footprint::now().heap - before.heap, 32 << 20);
  }
  if (!kSanitized && !takes_any_advice()) {
    EXPECT_GE(Footprint::now().resident - before.resident, 31 << 20);
  }

  const int descriptor = ::open("/dev/null", O_RDONLY);
  EXPECT_EQ(Footprint::now().descriptors, before.descriptors + 1);
  ::close(descriptor);
  EXPECT_EQ(Footprint::now().descriptors, before.descriptors);

  std::promise<void> end;
  std::thread thread([ended = end.get_future()]() { ended.wait(); });
  if (!kThreadSanitized) {  // it starts one of its own
    EXPECT_EQ(Footprint::now().threads, before.threads + 1);
  }
  end.set_value();
  thread.join();

  void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  if (!kSanitized) {
    EXPECT_GT(Footprint::now().mappings, before.mappings);
  }
  ::munmap(page, 4096);
}

}  // namespace
}  // namespace dovetail::test
