// SPDX-License-Identifier: Apache-2.0
// Trainers that are killed at random moments and started again from the state that they saved last,
// until the epoch ends.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/batch_reader.h>

#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/sample_records.h"
#include "tests/support/sanitizers.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

constexpr int kEnded = 0;
constexpr int kWrong = 3;
constexpr int kRefused = 4;

const SampleShape kShape{.shard_records = {301, 77, 0, 512, 1, 140}, .max_bytes = 300, .block_bytes = 2048};
constexpr std::uint64_t kRecords = 1031;

/// There as a whole or not at all, whenever the process is killed.
void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path + ".new", std::ios::binary) << bytes;
  fs::rename(path + ".new", path);
}

std::string bytes_of(const std::string& path) {
  std::stringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

/// How a job of several ranks reads.
struct Job {
  OrderKind order = OrderKind::shuffle;
  Tail tail = Tail::pad;
  std::uint32_t world = 1;
  std::uint32_t batch = 1;
  /// After so many steps of a life it waits to be killed, reading ahead.
  std::optional<std::uint64_t> halts_after = std::nullopt;
};

ReaderOptions options_of(const Job& job, std::uint32_t rank, const std::optional<State>& state) {
  return {
      .ranks = {.rank = rank, .world = job.world},
      .plan =
          {.world = job.world, .batch = job.batch, .order = job.order, .tail = job.tail, .open_runs = 4, .pool = 32},
      .state = state,
      .epochs = 1,
      .memory_bytes = 8 << 20,
      .decode_threads = 1,
      .registration = Registration::off};
}

/// One life: all ranks in one process, step by step. A step's rows go into a file of its number,
/// then the state into its own.
int live(const Dataset& dataset, const Job& job, const std::string& folder) {
  std::optional<State> state;
  if (fs::exists(folder + "/state")) state = State::from_text(bytes_of(folder + "/state")).value();
  std::vector<BatchReader> readers;
  for (std::uint32_t rank = 0; rank < job.world; ++rank) {
    auto reader = BatchReader::open(dataset, options_of(job, rank, state));
    if (!reader) return kRefused;
    readers.push_back(std::move(*reader));
  }
  for (std::uint64_t steps = 0;; ++steps) {
    while (job.halts_after == steps) ::pause();
    std::string rows;
    std::optional<Position> at;
    for (BatchReader& reader : readers) {
      const std::optional<Batch> batch = reader.next().value();
      if (!batch) return &reader == &readers.front() ? kEnded : kWrong;
      if (at && at->step != batch->step()) return kWrong;
      at = Position{batch->epoch(), batch->step()};
      state = batch->state();
      for (std::uint32_t row = 0; row < batch->rows(); ++row) {
        const RowStatus status = batch->status()[row];
        const std::string wanted = status == RowStatus::empty ? "" : sample_record(batch->ids()[row], kShape);
        if (as_chars(batch->row(row)) != wanted) return kWrong;
        rows += std::to_string(batch->ids()[row]) + ' ' + std::to_string(static_cast<int>(status)) + '\n';
      }
    }
    put(folder + "/step-" + std::to_string(at->step), rows);
    put(folder + "/state", state->to_text());
  }
}

/// What the lives have recorded of the steps that the last state counts.
Rows recorded(const std::string& folder) {
  const std::uint64_t steps = State::from_text(bytes_of(folder + "/state")).value().position().step;
  Rows rows;
  for (std::uint64_t step = 0; step < steps; ++step) {
    std::ifstream file(folder + "/step-" + std::to_string(step));
    EXPECT_TRUE(file) << "step " << step << " is nowhere";
    std::uint64_t id = 0;
    int status = 0;
    while (file >> id >> status) rows.push_back({id, static_cast<RowStatus>(status)});
  }
  return rows;
}

class ReaderKillTest : public FolderTest {
 protected:
  ReaderKillTest() : dataset_(make_sample(folder_.path("data"), kShape)) {}
  void SetUp() override {
    if (kThreadSanitized) GTEST_SKIP() << "children that are killed show no races";
    const char* const given = std::getenv("DOVETAIL_TEST_SEED");
    seed_ = given != nullptr ? std::strtoull(given, nullptr, 10) : 20261122;
    draws_.emplace(seed_);
  }
  std::string run() const { return folder_.path("run"); }

  /// Lives until one ends by itself; `next_job` says how each one reads. How many were killed.
  template <class NextJob>
  unsigned live_until_the_end(NextJob next_job) {
    fs::remove_all(run());
    fs::create_directory(run());
    unsigned killed = 0;
    for (unsigned lives = 0; lives < 1000; ++lives) {
      Job job = next_job(lives);
      // So that no machine is too quick for the first life to be killed.
      if (lives == 0) job.halts_after = draws_->below(kMostHalted);
      const pid_t child = ::fork();
      if (child == 0) ::_exit(live(dataset_, job, run()));
      EXPECT_GT(child, 0);
      const std::string before = bytes_of(run() + "/state");
      std::this_thread::sleep_for(std::chrono::microseconds(draws_->below(patience_)));
      ::kill(child, SIGKILL);
      int status = 0;
      EXPECT_EQ(::waitpid(child, &status, 0), child);
      if (WIFEXITED(status)) {
        EXPECT_EQ(WEXITSTATUS(status), kEnded);
        return killed;
      }
      ++killed;
      // As long as a machine this busy takes to some steps, so that most lives are killed in the
      // middle of them.
      const bool went_on = bytes_of(run() + "/state") != before;
      patience_ = went_on ? std::max<std::uint64_t>(patience_ * 7 / 8, 2000) : patience_ * 3 / 2;
    }
    ADD_FAILURE() << "it comes to no end";
    return killed;
  }

  static constexpr std::uint64_t kMostHalted = 40;  // fewer than any epoch here has steps

  Dataset dataset_;
  std::uint64_t seed_ = 0;
  std::uint64_t patience_ = 20'000;  // microseconds that a life has at most
  std::optional<Draws> draws_;
};

TEST_F(ReaderKillTest, AJobThatIsKilledDeliversTheEpochOfOneThatIsNot) {
  unsigned kills = 0;
  unsigned epochs = 0;
  for (const OrderKind order : {OrderKind::shuffle, OrderKind::sequential, OrderKind::global}) {
    for (const Tail tail : {Tail::drop, Tail::pad, Tail::wrap}) {
      for (const std::uint32_t world : {1u, 3u}) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed_ << ", order " << static_cast<int>(order) << ", tail "
                                          << static_cast<int>(tail) << ", world " << world);
        const Job job{.order = order, .tail = tail, .world = world, .batch = 7};
        kills += live_until_the_end([&](unsigned) { return job; });
        ++epochs;
        const Plan plan = Plan::make(dataset_.shape(), options_of(job, 0, {}).plan).value();
        std::vector<Rows> of_rank;
        for (std::uint32_t rank = 0; rank < world; ++rank) of_rank.push_back(test::planned(plan, rank, 0));
        Rows planned;
        for (std::size_t row = 0; row < of_rank[0].size(); row += job.batch) {
          for (const Rows& rows : of_rank) planned.insert(planned.end(), &rows[row], &rows[row] + job.batch);
        }
        ASSERT_TRUE(recorded(run()) == planned);
      }
    }
  }
  std::cout << "seed " << seed_ << ": " << epochs << " epochs, " << kills << " kills\n";
  EXPECT_GE(kills, epochs);
}

TEST_F(ReaderKillTest, AJobThatIsKilledAndGoesOnWithOtherRanksDeliversEveryRecordOnce) {
  unsigned kills = 0;
  unsigned changes = 0;
  unsigned epochs = 0;
  for (int round = 0; round < (kSanitized ? 2 : 6); ++round) {
    for (const OrderKind order : {OrderKind::shuffle, OrderKind::sequential, OrderKind::global}) {
      const Tail tail = round % 3 == 2 ? Tail::drop : Tail::pad;
      SCOPED_TRACE(::testing::Message() << "seed " << seed_ << ", round " << round << ", order "
                                        << static_cast<int>(order) << ", tail " << static_cast<int>(tail));
      Job job{.order = order, .tail = tail, .world = 2, .batch = 6};
      kills += live_until_the_end([&](unsigned life) {
        if (life % 2 == 1 && life < 2 * State::kMaxChanges) {  // a state holds so many changes
          job.world = 1 + static_cast<std::uint32_t>(draws_->below(4));
          job.batch = 3 + static_cast<std::uint32_t>(draws_->below(9));
          ++changes;
        }
        return job;
      });
      ++epochs;
      std::vector<std::uint64_t> ids;
      for (const Row& row : recorded(run())) {
        if (row.status != RowStatus::empty) ids.push_back(row.id);
        EXPECT_TRUE(row.status == RowStatus::first || (row.status == RowStatus::empty && tail == Tail::pad));
      }
      std::sort(ids.begin(), ids.end());
      ASSERT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end()) << "a record came twice";
      ASSERT_LT(ids.back(), kRecords);
      if (tail == Tail::pad) {
        ASSERT_EQ(ids.size(), kRecords);
      } else {
        ASSERT_GT(ids.size(), kRecords - 4 * 11) << "fewer are left than a step of the last job takes";
      }
    }
  }
  std::cout << "seed " << seed_ << ": " << epochs << " epochs, " << kills << " kills, " << changes << " changes\n";
  EXPECT_GE(kills, epochs);
}

}  // namespace
}  // namespace dovetail::test
