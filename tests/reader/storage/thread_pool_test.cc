// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/thread_pool.h"

#include <sched.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace dovetail::detail {
namespace {

TEST(ThreadPoolTest, HasAsManyThreadsAsJobsUpToItsLimitAndOneAfterwards) {
  ThreadPool pool(4);
  EXPECT_EQ(pool.size(), 1u);
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::atomic<unsigned> begun = 0;
  for (unsigned job = 0; job < 9; ++job) {
    pool.post([&] {
      ++begun;
      released.wait();
    });
  }
  while (begun < 4) std::this_thread::yield();
  EXPECT_EQ(pool.size(), 4u);
  pool.raise_limit();
  while (begun < 5) std::this_thread::yield();
  EXPECT_EQ(pool.size(), 5u);
  release.set_value();
  while (pool.size() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(begun, 9u);
  pool.post([&] { ++begun; });
  pool.join();
  EXPECT_EQ(begun, 10u);
}

TEST(ThreadPoolTest, ThreadsHaveTheCoresOfTheOneThatMadeThePool) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  ThreadPool pool(2);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0; CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  std::atomic<unsigned> begun = 0;
  std::atomic<unsigned> alike = 0;
  for (unsigned job = 0; job < 2; ++job) {
    pool.post([&] {
      ++begun;
      while (begun < 2) std::this_thread::yield();
      cpu_set_t here;
      if (::sched_getaffinity(0, sizeof here, &here) == 0 && CPU_EQUAL(&here, &before)) ++alike;
    });
  }
  pool.join();
  EXPECT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(alike, 2u);
}

TEST(ThreadPoolTest, TakesJobsWhileThreadsThatEndWaitForWhoPosts) {
  static std::mutex mutex;
  struct AtEnd {
    ~AtEnd() { const std::lock_guard lock(mutex); }
  };
  ThreadPool pool(3);
  std::atomic<unsigned> begun = 0;
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex);
    for (unsigned job = 0; job < 3; ++job) {
      pool.post([&] {
        static thread_local const AtEnd at_end;
        ++begun;
        while (begun < 3) std::this_thread::yield();
      });
    }
    while (pool.size() > 1 || begun < 3) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    pool.post([&] { done.set_value(); });
    done.get_future().wait();
  }
  pool.join();
}

TEST(ThreadPoolTest, JoinRunsWhatIsPostedAndWhatThatPosts) {
  std::atomic<unsigned> done = 0;
  ThreadPool pool(2);
  for (unsigned job = 0; job < 100; ++job) {
    pool.post([&] { pool.post([&] { ++done; }); });
  }
  pool.join();
  EXPECT_EQ(done, 100u);
}

}  // namespace
}  // namespace dovetail::detail
