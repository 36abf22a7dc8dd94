// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/apart_threads.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace dovetail::testing {
namespace {

using detail::ApartThreads;
using Job = ApartThreads::Job;
using JobPtr = ApartThreads::JobPtr;

constexpr std::chrono::milliseconds kAMoment{20};
constexpr std::chrono::minutes kAmple{1};

/// Jobs that hang until they are let go, and what became of them.
class ApartThreadsTest : public ::testing::Test {
 protected:
  ~ApartThreadsTest() override {
    let_go_.set_value();
    threads_->settle(kAmple);
  }

  struct Fate {
    std::promise<void> begun;
    std::promise<void> ended;
    std::promise<void> refused;
  };
  JobPtr job(const std::shared_ptr<Fate>& fate, const std::function<void()>& work) {
    return std::make_shared<Job>(
        [fate, work] {
          fate->begun.set_value();
          work();
        },
        [fate](ApartThreads::Fate became) {
          (became == ApartThreads::Fate::done ? fate->ended : fate->refused).set_value();
        });
  }
  JobPtr hanging(const std::shared_ptr<Fate>& fate) {
    return job(fate, [released = released_] { released.wait(); });
  }
  bool taken(const JobPtr& job) { return threads_->run(job) == ApartThreads::Taken::yes; }
  static bool happens(std::promise<void>& what) {
    return what.get_future().wait_for(kAmple) == std::future_status::ready;
  }

  std::promise<void> let_go_;
  const std::shared_future<void> released_ = let_go_.get_future().share();
  const std::shared_ptr<ApartThreads> threads_ = std::make_shared<ApartThreads>(2, 3);
};

TEST_F(ApartThreadsTest, JobsRunSoManyAtATimeAndAllOfThem) {
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  std::atomic<int> done = 0;
  std::promise<void> all;
  for (int i = 0; i < 100; ++i) {
    const auto work = [&] {
      const int others = now++;
      for (int seen = most; others + 1 > seen && !most.compare_exchange_weak(seen, others + 1);) {
      }
      std::this_thread::yield();
      --now;
    };
    ASSERT_TRUE(taken(std::make_shared<Job>(work, [&](ApartThreads::Fate) {
      if (++done == 100) all.set_value();
    })));
  }
  EXPECT_TRUE(happens(all));
  EXPECT_LE(most, 2);
}

TEST_F(ApartThreadsTest, AThreadWhoseJobIsLostHasAnotherInItsPlace) {
  const std::vector<std::shared_ptr<Fate>> fates{std::make_shared<Fate>(), std::make_shared<Fate>()};
  std::vector<JobPtr> jobs;
  for (const auto& fate : fates) {
    jobs.push_back(hanging(fate));
    ASSERT_TRUE(taken(jobs.back()));
    EXPECT_TRUE(happens(fate->begun));
  }
  const auto waits = std::make_shared<Fate>();
  ASSERT_TRUE(taken(job(waits, [] {})));
  auto begun = waits->begun.get_future();
  EXPECT_EQ(begun.wait_for(kAMoment), std::future_status::timeout) << "both threads are at work";
  threads_->lose(*jobs[0]);
  threads_->lose(*jobs[0]);
  EXPECT_TRUE(happens(waits->ended));
}

TEST_F(ApartThreadsTest, WhatNoThreadIsLeftForIsRefused) {
  const std::vector<std::shared_ptr<Fate>> fates{std::make_shared<Fate>(), std::make_shared<Fate>(),
                                                 std::make_shared<Fate>()};
  std::vector<JobPtr> jobs;
  for (const auto& fate : fates) jobs.push_back(hanging(fate));
  ASSERT_TRUE(taken(jobs[0]));
  ASSERT_TRUE(taken(jobs[1]));
  ASSERT_TRUE(taken(jobs[2]));
  EXPECT_TRUE(happens(fates[1]->begun));
  threads_->lose(*jobs[0]);
  EXPECT_TRUE(happens(fates[2]->begun)) << "three in all";
  const auto waits = std::make_shared<Fate>();
  ASSERT_TRUE(taken(job(waits, [] {}))) << "one of them still counts";
  threads_->lose(*jobs[1]);
  threads_->lose(*jobs[2]);
  EXPECT_TRUE(happens(waits->refused));
  const auto late = std::make_shared<Fate>();
  EXPECT_FALSE(taken(job(late, [] {})));
}

TEST_F(ApartThreadsTest, ThreadsWhoseLostJobsComeBackCountAgain) {
  for (int round = 0; round < 50; ++round) {
    std::promise<void> let_go;
    const std::shared_future<void> released = let_go.get_future().share();
    std::vector<std::shared_ptr<Fate>> fates;
    std::vector<JobPtr> jobs;
    for (int i = 0; i < 3; ++i) {
      fates.push_back(std::make_shared<Fate>());
      jobs.push_back(job(fates.back(), [released] { released.wait(); }));
      ASSERT_TRUE(taken(jobs.back())) << "round " << round;
      EXPECT_TRUE(happens(fates.back()->begun));
      threads_->lose(*jobs.back());
    }
    EXPECT_FALSE(taken(job(std::make_shared<Fate>(), [] {})));
    let_go.set_value();
    for (const auto& fate : fates) EXPECT_TRUE(happens(fate->ended));
  }
}

TEST_F(ApartThreadsTest, AJobThatIsLostBeforeItBeginsNeverDoes) {
  const auto first = std::make_shared<Fate>();
  const auto second = std::make_shared<Fate>();
  ASSERT_TRUE(taken(hanging(first)));
  ASSERT_TRUE(taken(hanging(second)));
  EXPECT_TRUE(happens(first->begun) && happens(second->begun));
  bool begun = false;
  const auto owned = std::make_shared<int>(0);
  bool done = true;
  const auto waits = std::make_shared<Job>(
      [&begun, owned] { begun = true; }, [&done](ApartThreads::Fate fate) { done = fate == ApartThreads::Fate::done; });
  ASSERT_TRUE(taken(waits));
  threads_->lose(*waits);
  EXPECT_FALSE(done) << "it is told so";
  EXPECT_EQ(owned.use_count(), 1) << "what it owned is gone";
  const auto never = std::make_shared<Job>([&begun] { begun = true; }, [](ApartThreads::Fate) {});
  threads_->lose(*never);
  EXPECT_FALSE(taken(never));
  EXPECT_FALSE(begun);
}

TEST_F(ApartThreadsTest, WhatAJobOwnsGoesWhileOthersMayGoOn) {
  std::promise<bool> other_ran;
  // Closing a file may hang, as reading it does.
  std::shared_ptr<void> owned(nullptr, [&](void*) {
    std::promise<void> ran;
    const bool ours = taken(std::make_shared<Job>([&ran] { ran.set_value(); }, [](ApartThreads::Fate) {}));
    other_ran.set_value(ours && happens(ran));
  });
  ASSERT_TRUE(taken(std::make_shared<Job>([owned = std::move(owned)] {}, [](ApartThreads::Fate) {})));
  EXPECT_TRUE(other_ran.get_future().get());
}

TEST_F(ApartThreadsTest, ExceptionsOfAJobStayWithIt) {
  std::promise<void> ended;
  ASSERT_TRUE(taken(std::make_shared<Job>([] { throw std::bad_alloc(); },
                                          [&ended](ApartThreads::Fate) {
                                            ended.set_value();
                                            throw std::bad_alloc();
                                          })));
  EXPECT_TRUE(happens(ended));
}

}  // namespace
}  // namespace dovetail::testing
