// SPDX-License-Identifier: Apache-2.0
#include "writer/ordered_pool.h"

#include <atomic>
#include <latch>
#include <memory>
#include <new>
#include <stdexcept>

#include "tests/support/fails.h"

namespace dovetail::detail {
namespace {

using Pool = OrderedPool<std::unique_ptr<int>>;

std::unique_ptr<Pool> start(unsigned threads, Pool::Work work) {
  return Pool::start(threads, std::move(work)).value();
}

TEST(OrderedPoolTest, GivesJobsBackInTheOrderTheyCame) {
  for (const unsigned threads : {1u, 2u, 7u}) {
    const auto pool = start(threads, [](std::unique_ptr<int>& job) {
      if (*job % 3 == 0) std::this_thread::yield();
      *job *= 2;
      return Result<void>();
    });
    int taken = 0;
    for (int i = 0; i < 2000; ++i) {
      if (pool->in_flight() == 16) {
        EXPECT_EQ(*pool->take().job, 2 * taken++);
      }
      pool->submit(std::make_unique<int>(i));
    }
    while (pool->in_flight() != 0) EXPECT_EQ(*pool->take().job, 2 * taken++);
    EXPECT_EQ(taken, 2000);
  }
}

TEST(OrderedPoolTest, WorksOnLaterJobsWhileAnEarlierOneLasts) {
  std::latch later_done(1);
  const auto pool = start(2, [&](std::unique_ptr<int>& job) {
    if (*job == 0) {
      later_done.wait();
    } else {
      later_done.count_down();
    }
    return Result<void>();
  });
  pool->submit(std::make_unique<int>(0));
  pool->submit(std::make_unique<int>(1));
  EXPECT_EQ(*pool->take().job, 0);
  EXPECT_EQ(*pool->take().job, 1);
}

TEST(OrderedPoolTest, BringsFailuresAndExceptionsBackWithTheirJob) {
  const auto pool = start(2, [](std::unique_ptr<int>& job) -> Result<void> {
    if (*job == 1) return Error(Errc::closed, "one");
    if (*job == 2) throw std::bad_alloc();
    if (*job == 3) throw std::runtime_error("three");
    if (*job == 4) throw 4;
    return {};
  });
  for (int i = 0; i < 6; ++i) pool->submit(std::make_unique<int>(i));
  EXPECT_TRUE(pool->take().outcome);
  EXPECT_THAT(pool->take().outcome, test::Fails(Errc::closed));
  EXPECT_THAT(pool->take().outcome, test::Fails(boost::system::errc::not_enough_memory));
  EXPECT_THAT(pool->take().outcome, test::Fails(boost::system::errc::state_not_recoverable));
  EXPECT_THAT(pool->take().outcome, test::Fails(boost::system::errc::state_not_recoverable));
  EXPECT_TRUE(pool->take().outcome) << "a failure does not stop the threads";
}

TEST(OrderedPoolTest, EndsWithJobsInFlight) {
  std::atomic<int> begun = 0;
  {
    const auto pool = start(2, [&](std::unique_ptr<int>&) {
      ++begun;
      return Result<void>();
    });
    for (int i = 0; i < 100; ++i) pool->submit(std::make_unique<int>(i));
    EXPECT_EQ(*pool->take().job, 0);
  }
  EXPECT_GE(begun, 1);
}

}  // namespace
}  // namespace dovetail::detail
