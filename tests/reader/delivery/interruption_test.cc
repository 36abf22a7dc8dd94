// SPDX-License-Identifier: Apache-2.0
// Cancelling, stopping and releasing at any time, with storage that is late.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/io_context.hpp>

#include "tests/reader/delivery/injected_engine.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/fails.h"
#include "tests/support/gated_storage.h"
#include "tests/support/sanitizers.h"
#include "tests/support/shuffled_storage.h"
#include "tests/support/starved_executor.h"

namespace dovetail::test {
namespace {

namespace asio = boost::asio;

/// Asks the reader from another thread, which may then wait for a batch, and has no memory.
struct StarvedAfterAQuestion : StarvedExecutor {
  template <class Function>
  void execute(Function /*function*/) const {
    const std::shared_future<bool> answer =
        std::async(std::launch::async, [engine = engine] { return engine->next().has_value(); });
    asked->set_value(answer);
    answer.wait_for(std::chrono::milliseconds(20));
    throw std::bad_alloc();
  }
  StarvedAfterAQuestion require(asio::execution::blocking_t::never_t) const noexcept { return *this; }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking.never;
  }

  detail::RankReader* engine;
  std::promise<std::shared_future<bool>>* asked;
};

/// Calls a function of the test, and then has no memory.
struct StarvedAfterACall : StarvedExecutor {
  template <class Function>
  void execute(Function /*function*/) const {
    (*call)();
    throw std::bad_alloc();
  }
  StarvedAfterACall require(asio::execution::blocking_t::never_t) const noexcept { return *this; }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking.never;
  }

  const std::function<void()>* call;
};

class InterruptionTest : public test::SampleReaderTest {
 protected:
  static ReaderOptions options(unsigned threads) {
    ReaderOptions options = SampleReaderTest::options(0, 1, 25);
    options.decode_threads = threads;
    options.registration = Registration::off;
    return options;
  }
  static std::unique_ptr<detail::RankReader> open_shuffled(const ReaderOptions& options, std::uint64_t seed) {
    return open_engine(dataset(), options,
                       [&](std::unique_ptr<detail::Storage> inner) {
                         return std::make_unique<ShuffledStorage>(std::move(inner), seed);
                       })
        .value();
  }
  /// Withholds every read, of all files or of none.
  static std::unique_ptr<detail::RankReader> open_gated(const ReaderOptions& options, GatedStorage*& storage) {
    return open_engine(dataset(), options,
                       [&](std::unique_ptr<detail::Storage> inner) {
                         auto gated = std::make_unique<GatedStorage>(std::move(inner), GatedStorage::Immediate::no,
                                                                     [](const std::string&) { return true; });
                         storage = gated.get();
                         return gated;
                       })
        .value();
  }
};

TEST_F(InterruptionTest, CancellingAtAnyTimeLosesNoBatchWithLateStorage) {
  constexpr unsigned kSeeds = kSanitized ? 3 : 8;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const std::unique_ptr<detail::RankReader> engine = open_shuffled(options(1 + seed % 3), seed);
    asio::io_context context;
    Rows rows;
    std::uint64_t cancelled = 0;
    bool ended = false;
    while (!ended) {
      asio::cancellation_signal signal;
      bool completed = false;
      async_next(*engine, asio::bind_cancellation_slot(signal.slot(),
                                                       asio::bind_executor(context, [&](boost::system::error_code error,
                                                                                        std::optional<Batch> batch) {
                                                         completed = true;
                                                         if (error) {
                                                           EXPECT_EQ(error, asio::error::operation_aborted);
                                                           ++cancelled;
                                                         } else if (batch.has_value()) {
                                                           append_checked(*batch, kSampleShape, rows);
                                                         } else {
                                                           ended = true;
                                                         }
                                                       })));
      context.restart();
      context.run_for(std::chrono::microseconds(random() % 1500));
      if (!completed) signal.emit(asio::cancellation_type::all);
      context.restart();
      context.run();
      ASSERT_TRUE(completed);
    }
    EXPECT_EQ(rows, planned(engine->plan(), 0, 0));
    EXPECT_GT(cancelled, 0u);
  }
}

TEST_F(InterruptionTest, AnExecutorWithoutMemoryEndsANextThatWaits) {
  std::promise<std::shared_future<bool>> asked;  // outlives the reader, a thread of which may set it
  GatedStorage* storage = nullptr;
  const std::unique_ptr<detail::RankReader> engine = open_gated(options(2), storage);
  asio::cancellation_signal signal;
  async_next(*engine, asio::bind_cancellation_slot(
                          signal.slot(),
                          asio::bind_executor(StarvedAfterAQuestion{{}, engine.get(), &asked},
                                              [](boost::system::error_code, std::optional<Batch>) { ADD_FAILURE(); })));
  signal.emit(asio::cancellation_type::all);
  EXPECT_FALSE(asked.get_future().get().get());
}

TEST_F(InterruptionTest, ACancelledRequestWhoseExecutorHasNoMemoryTakesNoOtherBatchBack) {
  GatedStorage* storage = nullptr;
  const std::unique_ptr<detail::RankReader> engine = open_gated(options(1), storage);
  storage->wait_for_withheld(1);
  Rows rows;
  const std::function<void()> ask = [&] {
    storage->let_go(GatedStorage::Open::for_ever);
    append_checked(engine->next().value().value(), kSampleShape, rows);
  };
  asio::cancellation_signal signal;
  async_next(*engine, asio::bind_cancellation_slot(
                          signal.slot(),
                          asio::bind_executor(StarvedAfterACall{{}, &ask},
                                              [](boost::system::error_code, std::optional<Batch>) { ADD_FAILURE(); })));
  signal.emit(asio::cancellation_type::all);
  while (!engine->error().has_value()) std::this_thread::yield();  // a thread of the reader may ask, too
  EXPECT_EQ(rows.size(), 25u);
  EXPECT_EQ(engine->state().position().step, 1u) << "the batch of the other request was delivered";
}

TEST_F(InterruptionTest, TwoExecutorsWithoutMemoryLoseNoBatchWhicheverThrowsFirst) {
  GatedStorage* storage = nullptr;
  const std::unique_ptr<detail::RankReader> engine = open_gated(options(1), storage);
  storage->let_go(GatedStorage::Open::for_ever);
  while (engine->stats().waiting_for_consumer == std::chrono::nanoseconds(0)) std::this_thread::yield();
  const auto alive = std::make_shared<int>();
  const auto fails = [](boost::system::error_code, std::optional<Batch>) { ADD_FAILURE(); };
  std::promise<void> began;
  const std::function<void()> second = [&] {
    began.set_value();
    while (!engine->error().has_value()) std::this_thread::yield();
  };
  std::thread other;
  const std::function<void()> first = [&] {
    other = std::thread([&, alive] {
      async_next(*engine, asio::bind_executor(StarvedAfterACall{{}, &second},
                                              [alive](boost::system::error_code, std::optional<Batch>) {}));
    });
    began.get_future().wait();
  };
  async_next(*engine, asio::bind_executor(StarvedAfterACall{{}, &first}, fails));
  other.join();
  while (alive.use_count() > 1) std::this_thread::yield();
  EXPECT_EQ(engine->state().position().step, 0u) << "a reader that continues from here delivers both batches";
}

TEST_F(InterruptionTest, RunningOutOfPatienceAtAnyTimeLosesNoBatch) {
  constexpr unsigned kSeeds = kSanitized ? 3 : 8;
  std::uint64_t not_yet = 0;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const std::unique_ptr<detail::RankReader> engine = open_shuffled(options(1 + seed % 3), seed);
    Rows rows;
    for (;;) {
      const auto patience = std::chrono::microseconds(random() % 300);
      const Result<std::optional<Batch>> batch = engine->next(detail::StallClock::Clock::now() + patience);
      if (!batch.has_value()) {
        ASSERT_THAT(batch, Fails(Errc::not_yet));
        ++not_yet;
        continue;
      }
      if (!batch->has_value()) break;
      append_checked(**batch, kSampleShape, rows);
    }
    EXPECT_EQ(rows, planned(engine->plan(), 0, 0));
  }
  EXPECT_GT(not_yet, 0u);
}

TEST_F(InterruptionTest, StoppingAtAnyTimeEndsANextThatHelpsOrWaits) {
  constexpr unsigned kSeeds = kSanitized ? 20 : 60;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    ReaderOptions endless = options(1 + seed % 3);
    endless.epochs = 0;
    const std::unique_ptr<detail::RankReader> engine = open_shuffled(endless, seed);
    std::vector<Batch> held;
    std::thread trainer([&] {
      for (;;) {
        Result<std::optional<Batch>> batch = engine->next();
        if (!batch.has_value()) {
          EXPECT_THAT(batch, Fails(ErrorKind::cancelled));
          return;
        }
        if (held.empty() && batch->has_value()) held.push_back(std::move(**batch));
      }
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    std::thread other([&] { engine->stop(); });
    engine->stop();
    other.join();
    trainer.join();
    if (!held.empty()) {
      Rows rows;
      append_checked(held.front(), kSampleShape, rows);
    }
  }
}

TEST_F(InterruptionTest, StoppingEndsANextThatWaitsForStorageThatIsLate) {
  for (const unsigned threads : {1u, 3u}) {
    GatedStorage* storage = nullptr;
    const std::unique_ptr<detail::RankReader> engine = open_gated(options(threads), storage);
    std::future<bool> trainer = std::async(std::launch::async, [&] { return engine->next().has_value(); });
    storage->wait_for_withheld(1);
    engine->stop();
    EXPECT_FALSE(trainer.get());
  }
}

TEST_F(InterruptionTest, ABatchReleasedOnAnotherThreadLetsTheReaderGoOn) {
  ReaderOptions one = options(2);
  one.prefetch = 1;
  one.max_held = 1;
  const std::unique_ptr<detail::RankReader> engine = open_shuffled(one, 3);
  Rows rows;
  std::optional<Batch> batch = engine->next().value();
  while (batch.has_value()) {
    const Result<std::optional<Batch>> held = engine->next();
    ASSERT_THAT(held, Fails(Errc::slots_held));
    append_checked(*batch, kSampleShape, rows);
    std::thread([taken = std::move(*batch)]() mutable { taken.release(); }).join();
    batch.reset();
    batch = engine->next().value();
  }
  EXPECT_EQ(rows, planned(engine->plan(), 0, 0));
}

// While the reads of one shard are withheld, all that does not need it goes on.
TEST(SlowShardTest, OneLateShardHoldsBackOnlyTheBatchesThatNeedIt) {
  TempFolder folder;
  const SampleShape shape{
      .shard_records = std::vector<std::uint64_t>(16, 64), .min_bytes = 200, .max_bytes = 200, .codec = Codec::none};
  const Dataset dataset = make_sample(folder.path("data"), shape);
  for (const unsigned threads : {1u, 2u}) {
    ReaderOptions options{.plan = {.batch = 16, .order = OrderKind::shuffle, .open_runs = 4, .pool = 16},
                          .epochs = 1,
                          .storage = StorageKind::pread,
                          .decode_threads = threads};
    // A shard whose records come first in a batch in the middle of the epoch.
    options.plan.world = 1;
    const Rows rows = planned(Plan::make(dataset.shape(), options.plan).value(), 0, 0);
    std::vector<std::uint64_t> first_step(16, ~std::uint64_t{0});
    for (std::uint64_t row = 0; row < rows.size(); ++row) {
      first_step[rows[row].id / 64] = std::min(first_step[rows[row].id / 64], row / 16);
    }
    const auto late = std::max_element(first_step.begin(), first_step.end());
    const std::uint64_t free_steps = *late;
    ASSERT_GT(free_steps, 4u);
    const std::string path = dataset.shard_path(static_cast<std::uint32_t>(late - first_step.begin()));

    GatedStorage* storage = nullptr;
    const std::unique_ptr<detail::RankReader> engine =
        open_engine(dataset, options, [&](std::unique_ptr<detail::Storage> inner) {
          auto gated = std::make_unique<GatedStorage>(std::move(inner), GatedStorage::Immediate::no,
                                                      [&](const std::string& file) { return file == path; });
          storage = gated.get();
          return gated;
        }).value();
    for (std::uint64_t step = 0; step < free_steps; ++step) ASSERT_EQ(engine->next().value()->step(), step);
    std::future<std::uint64_t> blocked = std::async(std::launch::async, [&] { return engine->next().value()->step(); });
    storage->wait_for_withheld(1);
    // A wait makes the window of reading ahead far larger than what is left: all of it is asked for
    // meanwhile.
    std::uint64_t expected = 0;
    for (std::uint32_t shard = 0; shard < 16; ++shard) expected += detail::open_shard(dataset, shard)->blocks().size();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (storage->counts().read_bytes < rows.size() * 200 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_GE(storage->counts().read_bytes, rows.size() * 200) << "what comes behind the late shard was not asked for";
    EXPECT_LE(storage->counts().reads, expected);
    EXPECT_EQ(blocked.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    EXPECT_EQ(storage->reads_of(path), storage->withheld());
    storage->let_go(GatedStorage::Open::for_ever);
    EXPECT_EQ(blocked.get(), free_steps);
    std::uint64_t step = free_steps;
    while (engine->next().value().has_value()) ++step;
    EXPECT_EQ(step + 1, rows.size() / 16);
  }
}

// Blocks of 4 MiB, far more runs open than fit: the budget holds, and the epoch ends.
TEST(BudgetTest, HostileSizesStayWithinTheBudgetAndEnd) {
  TempFolder folder;
  const SampleShape shape{.shard_records = {64, 64},
                          .min_bytes = 200 << 10,
                          .max_bytes = 300 << 10,
                          .codec = Codec::none,
                          .block_bytes = 4 << 20,
                          .run_records = 16};
  const Dataset dataset = make_sample(folder.path("data"), shape);
  ASSERT_GT(dataset.shards()[0].max_block_raw, 3u << 20);
  std::mt19937_64 random(1);
  for (int i = 0; i < (kSanitized ? 4 : 10); ++i) {
    ReaderOptions options{.plan = {.batch = 8, .open_runs = 96, .seed = random()},
                          .epochs = 1,
                          .oversize = Oversize::spill,
                          .memory_bytes = 1 << 20,
                          .decode_threads = 1 + static_cast<unsigned>(i % 3)};
    while (detail::set_up(dataset, options).has_error()) options.memory_bytes += 1 << 18;  // the least that opens
    options.memory_bytes += i % 2 == 0 ? 0 : random() % (8 << 20);
    detail::ReaderSetup setup = detail::set_up(dataset, options).value();
    const std::uint64_t budget = setup.memory.read_ahead_bytes;
    detail::RankReader engine(std::move(setup));
    engine.start().value();
    std::uint64_t batches = 0;
    while (engine.next().value().has_value()) {
      ++batches;
      ASSERT_LE(engine.stats().read_ahead_bytes, budget);
    }
    EXPECT_EQ(batches, 16u);
    EXPECT_LE(engine.stats().read_ahead_peak, budget);
  }
}

}  // namespace
}  // namespace dovetail::test
