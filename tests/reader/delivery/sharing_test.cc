// SPDX-License-Identifier: Apache-2.0
// Readers that share a dataset, an io_context and the machine, and threads that share a reader.
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <iostream>
#include <latch>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <dovetail/record_reader.h>

#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/fails.h"
#include "tests/support/sanitizers.h"

namespace dovetail::test {
namespace {

namespace asio = boost::asio;

constexpr unsigned kContextThreads = 4;

/// Copied from runs, also where all have one size, and read straight into rows.
const std::array<SampleShape, 3> kShapes{
    SampleShape{.shard_records = {301, 77, 0, 512, 1, 140}},
    SampleShape{.shard_records = {400, 300, 330}, .min_bytes = 512, .max_bytes = 512, .codec = Codec::none},
    SampleShape{.shard_records = {40, 30, 33},
                .min_bytes = 20 << 10,
                .max_bytes = 24 << 10,
                .codec = Codec::none,
                .block_bytes = 16 << 10}};

/// Runs the context on some threads until it has nothing more to do.
void run(asio::io_context& context) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kContextThreads; ++i) threads.emplace_back([&context] { context.run(); });
  for (std::thread& thread : threads) thread.join();
}

/// What one reader delivers, and what it should.
struct Course {
  const SampleShape* shape = nullptr;
  std::unique_ptr<BatchReader> reader;
  std::uint32_t rank = 0;
  std::uint32_t epochs = 0;
  Rows rows;
  Hash128 digest;

  void take(const Batch& batch) {
    append_checked(batch, *shape, rows);
    for (std::uint32_t row = 0; row < batch.rows(); ++row) {
      if (batch.status()[row] == RowStatus::first) digest += record_digest(batch.ids()[row]);
    }
  }
  void expect_whole(const Plan& plan) const {
    Rows whole;
    for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
      const Rows more = planned(plan, rank, epoch);
      whole.insert(whole.end(), more.begin(), more.end());
    }
    EXPECT_EQ(rows, whole) << "rank " << rank;
  }
  Hash128 planned_digest(const Plan& plan) const {
    Hash128 sum;
    for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) sum += plan.epoch(epoch).value().digest();
    return sum;
  }
};

void read_blocking(Course& course) {
  for (std::uint32_t epoch = 0; epoch < course.epochs;) {
    const std::optional<Batch> batch = course.reader->next().value();
    if (batch.has_value()) {
      course.take(*batch);
    } else {
      ++epoch;
    }
  }
}

void read_range(Course& course) {
  for (std::uint32_t epoch = 0; epoch < course.epochs; ++epoch) {
    for (const Batch& batch : course.reader->epoch()) course.take(batch);
  }
}

asio::awaitable<void> read_async(Course& course) {
  for (std::uint32_t epoch = 0; epoch < course.epochs;) {
    const std::optional<Batch> batch = co_await course.reader->async_next(asio::use_awaitable);
    if (batch.has_value()) {
      course.take(*batch);
    } else {
      ++epoch;
    }
  }
}

class SharingTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  SharingTest() : dataset_(make_sample(folder_.path("data"), shape())) {
    for (const StorageKind kind : {StorageKind::pread, StorageKind::io_uring_direct}) {
      // ThreadSanitizer does not see that a ring's memory goes, and takes the next one at its place
      // for the same.
      if (kThreadSanitized && kind != StorageKind::pread) continue;
      ReaderOptions options = SharingTest::options(0);
      options.storage = kind;
      if (BatchReader::open(dataset_, options).has_value()) kinds_.push_back(kind);
    }
  }

  static const SampleShape& shape() { return kShapes.at(GetParam()); }

  /// All of it by one rank, in ways that differ with `i`.
  static ReaderOptions options(std::uint32_t i) {
    return {.plan = {.batch = 5 + i,
                     .order = static_cast<OrderKind>(i % 3),
                     .tail = Tail::pad,
                     .open_runs = 4,
                     .pool = 32,
                     .seed = i},
            .epochs = 2,
            .memory_bytes = 16 << 20,
            .io_threads = 2,
            .decode_threads = 1 + i % 3,
            .registration = Registration::off};
  }
  Course course(ReaderOptions options, std::uint32_t i) const {
    options.storage = kinds_[i % kinds_.size()];
    auto reader = std::make_unique<BatchReader>(BatchReader::open(dataset_, options).value());
    return {.shape = &shape(),
            .reader = std::move(reader),
            .rank = options.ranks.rank,
            .epochs = options.epochs,
            .rows = {},
            .digest = {}};
  }
  std::vector<Course> courses(std::uint32_t count) const {
    std::vector<Course> all;
    for (std::uint32_t i = 0; i < count; ++i) all.push_back(course(options(i), i));
    return all;
  }
  /// Reads them all at once: a thread each for two ways, and one context of several threads for the
  /// third.
  static void read_all(std::vector<Course>& all, std::uint32_t first_way) {
    asio::io_context context;
    std::latch begin(static_cast<std::ptrdiff_t>(all.size()));
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      const std::uint32_t way = (first_way + i) % 3;
      if (way == 2) {
        asio::co_spawn(context, read_async(all[i]), [](const std::exception_ptr& failure) { EXPECT_FALSE(failure); });
        begin.count_down();
        continue;
      }
      threads.emplace_back([&begin, &course = all[i], way] {
        begin.arrive_and_wait();
        way == 0 ? read_blocking(course) : read_range(course);
      });
    }
    run(context);
    for (std::thread& thread : threads) thread.join();
  }
  static void expect_whole(const std::vector<Course>& all) {
    for (const Course& course : all) {
      course.expect_whole(course.reader->plan());
      EXPECT_EQ(course.digest, course.planned_digest(course.reader->plan()));
    }
  }

  TempFolder folder_;
  Dataset dataset_;
  std::vector<StorageKind> kinds_;
};

TEST_P(SharingTest, EightReadersAtOnceEachDeliverTheirPlan) {
  for (std::uint32_t way = 0; way < 3; ++way) {
    std::vector<Course> all = courses(8);
    read_all(all, way);
    expect_whole(all);
  }
}

TEST_P(SharingTest, EightRanksAtOnceDeliverEachRecordOnce) {
  for (std::uint32_t way = 0; way < 3; ++way) {
    std::vector<Course> ranks;
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
      ReaderOptions ours = options(way);
      ours.ranks = {.rank = rank, .world = 8};
      ranks.push_back(course(ours, rank + way));
    }
    read_all(ranks, way);
    Hash128 digest;
    for (const Course& rank : ranks) {
      rank.expect_whole(rank.reader->plan());
      digest += rank.digest;
    }
    EXPECT_EQ(digest, ranks.front().planned_digest(ranks.front().reader->plan()));
  }
}

/// Asks for batch after batch on a strand of its own, until something is done to the reader.
class Doomed {
 public:
  enum class Fate : std::uint8_t { destroyed, stopped, cancelled };

  Doomed(asio::io_context& context, std::unique_ptr<BatchReader> reader, Fate fate, std::uint64_t steps)
      : strand_(asio::make_strand(context)), reader_(std::move(reader)), fate_(fate), steps_(steps) {}

  void ask() {
    reader_->async_next(asio::bind_cancellation_slot(
        signal_.slot(),
        asio::bind_executor(strand_, [this](boost::system::error_code error, std::optional<Batch> batch) {
          if (error) {
            EXPECT_EQ(error, asio::error::operation_aborted);
            EXPECT_EQ(fate_, Fate::cancelled);
            reader_.reset();
            return;
          }
          if (!batch.has_value() || taken_++ < steps_) return ask();
          strike();
        })));
  }

 private:
  void strike() {
    switch (fate_) {
      case Fate::destroyed:
        return reader_.reset();
      case Fate::stopped:
        reader_->stop();
        EXPECT_EQ(reader_->error().value().kind(), ErrorKind::cancelled);
        return;
      case Fate::cancelled:
        // On the strand, but after the request has begun; it may have its batch by then, and then
        // is asked again.
        ask();
        return asio::post(strand_, [this] { signal_.emit(asio::cancellation_type::total); });
    }
  }

  asio::strand<asio::io_context::executor_type> strand_;
  std::unique_ptr<BatchReader> reader_;
  Fate fate_;
  std::uint64_t steps_;
  std::uint64_t taken_ = 0;
  asio::cancellation_signal signal_;
};

TEST_P(SharingTest, WhatBecomesOfOneReaderOfAContextIsNothingToTheOthers) {
  const std::uint64_t rounds = kSanitized ? 2 : 6;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (const auto fate : {Doomed::Fate::destroyed, Doomed::Fate::stopped, Doomed::Fate::cancelled}) {
      SCOPED_TRACE(::testing::Message() << "round " << round << ", fate " << static_cast<int>(fate));
      asio::io_context context;
      std::vector<Course> others = courses(3);
      for (Course& other : others) {
        asio::co_spawn(context, read_async(other), [](const std::exception_ptr& failure) { EXPECT_FALSE(failure); });
      }
      ReaderOptions endless = options(static_cast<std::uint32_t>(round));
      endless.epochs = 0;
      std::vector<std::unique_ptr<Doomed>> doomed;
      for (std::uint32_t i = 0; i < 2; ++i) {
        Course one = course(endless, i);
        doomed.push_back(std::make_unique<Doomed>(context, std::move(one.reader), fate, 3 * round + i));
        asio::post(context, [&one = *doomed.back()] { one.ask(); });
      }
      run(context);
      expect_whole(others);
    }
  }
}

TEST_P(SharingTest, ShardsAreVerifiedAndLookedIntoWhileReadersReadThem) {
  std::atomic<bool> reading = true;
  std::atomic<std::uint64_t> verified = 0;
  std::atomic<std::uint64_t> looked_up = 0;
  std::vector<std::thread> others;
  others.emplace_back([&] {
    do {
      const VerifyReport report = verify(dataset_.path(), 2).value();
      EXPECT_TRUE(report.ok());
      EXPECT_EQ(report.records, dataset_.records());
      ++verified;
    } while (reading);
  });
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    others.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      do {
        const std::uint64_t id = random() % dataset_.records();
        const Dataset::Place place = dataset_.locate(id);
        RecordReader records = RecordReader::open(dataset_, place.shard).value();
        records.seek(place.record).value();
        EXPECT_EQ(as_chars(*records.next().value()), sample_record(id, shape()));
        ++looked_up;
      } while (reading);
    });
  }
  std::vector<Course> all = courses(6);
  read_all(all, 0);
  reading = false;
  for (std::thread& thread : others) thread.join();
  expect_whole(all);
  std::cout << verified << " verifications, " << looked_up << " records looked up meanwhile\n";
}

TEST_P(SharingTest, OtherThreadsMayAskAReaderAnythingWhileItIsRead) {
  auto timeline = std::make_shared<Timeline>(1000);
  ReaderOptions watched = options(0);
  watched.timeline = timeline;
  for (int way = 0; way < 3; ++way) {
    std::vector<Course> one;
    one.push_back(course(watched, static_cast<std::uint32_t>(way)));
    const BatchReader& reader = *one.front().reader;
    const std::uint64_t check = reader.plan_checksum();
    std::atomic<bool> reading = true;
    std::vector<std::thread> others;
    for (int i = 0; i < 3; ++i) {
      others.emplace_back([&] {
        Position last;
        std::uint64_t batches = 0;
        do {
          const State state = reader.state();
          EXPECT_LE(last, state.position());
          last = state.position();
          const ReaderStats stats = reader.stats();
          EXPECT_LE(batches, stats.batches);
          batches = stats.batches;
          EXPECT_LE(stats.read_ahead_peak, stats.budget_bytes);
          EXPECT_FALSE(stats.to_json().empty());
          EXPECT_FALSE(reader.error().has_value());
          EXPECT_EQ(reader.plan_checksum(), check);
          EXPECT_EQ(reader.plan().plan_checksum(Position{}), check);
          EXPECT_GT(reader.slab_bytes(), 0u);
          EXPECT_FALSE(reader.registered());
          EXPECT_FALSE(timeline->to_json().empty());
        } while (reading);
      });
    }
    read_all(one, static_cast<std::uint32_t>(way));
    reading = false;
    for (std::thread& thread : others) thread.join();
    expect_whole(one);
  }
}

TEST_P(SharingTest, ManyThreadsMayStopAReaderThatIsReadAndWatched) {
  const unsigned rounds = kSanitized ? 10 : 40;
  for (unsigned round = 0; round < rounds; ++round) {
    ReaderOptions endless = options(round);
    endless.epochs = 0;
    Course one = course(endless, round);
    BatchReader& reader = *one.reader;
    std::atomic<std::uint64_t> taken = 0;
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
      for (;;) {
        const Result<std::optional<Batch>> batch = reader.next();
        if (!batch.has_value()) {
          EXPECT_THAT(batch, Fails(ErrorKind::cancelled));
          return;
        }
        if (batch->has_value()) one.take(**batch);
        ++taken;
      }
    });
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        while (taken < round) {
          EXPECT_GE(reader.stats().since_first_request.count(), 0);
          std::this_thread::yield();
        }
        reader.stop();
        EXPECT_EQ(reader.error().value().kind(), ErrorKind::cancelled);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(one.rows.size(), (reader.state().position().epoch + 1) * dataset_.records() * 2);
  }
}

TEST_P(SharingTest, BatchesMayBeReleasedByAnyThreadWhileTheReaderGoesAndAfter) {
  const unsigned rounds = kSanitized ? 20 : 100;
  for (unsigned round = 0; round < rounds; ++round) {
    ReaderOptions holding = options(round);
    holding.max_held = 6;
    holding.plan.batch = 7;
    Course one = course(holding, round);
    std::vector<Batch> held;
    for (int i = 0; i < 6; ++i) held.push_back(std::move(*one.reader->next().value()));
    std::latch begin(4);
    std::latch gone(1);
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < 3; ++thread) {
      threads.emplace_back(
          [&, first = std::move(held[2 * thread]), second = std::move(held[2 * thread + 1])]() mutable {
            begin.arrive_and_wait();
            Rows rows;
            if (round % 2 == 0) append_checked(first, shape(), rows);
            first.release();
            gone.wait();
            append_checked(second, shape(), rows);  // nobody may have filled its slot
            if (round % 3 == 0) second.release();
          });
    }
    held.clear();
    begin.arrive_and_wait();
    if (round % 4 == 0) (void)one.reader->next();
    one.reader.reset();
    gone.count_down();
    for (std::thread& thread : threads) thread.join();
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, SharingTest, ::testing::Range<std::size_t>(0, kShapes.size()), [](const auto& tested) {
  return std::string(std::array{"copied", "same_size", "straight"}.at(tested.param));
});

}  // namespace
}  // namespace dovetail::test
