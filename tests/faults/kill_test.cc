// SPDX-License-Identifier: Apache-2.0
// Writers that are killed at random moments: what is left is finished, or does not look so and can be recovered.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>
#include <dovetail/recover.h>

#include "tests/faults/written_records.h"
#include "tests/format/sample_shard.h"
#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/sanitizers.h"

namespace dovetail {
namespace {

using Clock = std::chrono::steady_clock;

bool write_shard(const std::string& path, const std::vector<std::string>& records) {
  Result<RecordWriter> writer = RecordWriter::create(path);
  for (const std::string& record : records) {
    if (!writer || !writer->append(as_bytes(record))) return false;
  }
  return writer && writer->finish();
}

bool write_dataset(const std::string& folder, const std::vector<std::string>& records) {
  DatasetWriterOptions options;
  options.shard_bytes = 1 << 19;
  options.encode_threads = 2;
  Result<DatasetWriter> writer = DatasetWriter::create(folder, options);
  for (const std::string& record : records) {
    if (!writer || !writer->append(as_bytes(record))) return false;
  }
  return writer && writer->finish();
}

class KillTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::kThreadSanitized) GTEST_SKIP() << "children that are killed show no races";
  }

  /// Runs `work` in a child that is killed at a random moment of the time that it takes, so many times; `look` then sees
  /// what is left in the folder.
  template <class Work, class Look>
  void kill_at_random(int rounds, Work work, Look look) {
    constexpr std::uint64_t kSeed = 20261122;
    format::test::Draws draws(kSeed);
    std::chrono::microseconds usual{1'000'000};
    int killed = 0;
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
      SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
      std::filesystem::remove_all(target());
      std::filesystem::create_directory(target());
      const Clock::time_point began = Clock::now();
      const pid_t child = ::fork();
      if (child == 0) ::_exit(work() ? 0 : 1);
      ASSERT_GT(child, 0);
      if (round >= 3) {  // the first ones show how long it takes
        std::this_thread::sleep_for(std::chrono::microseconds(draws.below(static_cast<std::uint64_t>(usual.count()))));
        ::kill(child, SIGKILL);
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      const bool ended = WIFEXITED(status);
      if (ended) {
        usual = std::min(usual, std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began));
      }
      if (ended) {
        ASSERT_EQ(WEXITSTATUS(status), 0);
      }
      killed += ended ? 0 : 1;
      look(ended);
    }
    EXPECT_GT(killed, 0);
    RecordProperty("killed", killed);
  }

  std::string target() const { return folder_.path("target"); }
  testing::TempFolder folder_;
};

const int kRounds = testing::kSanitized ? 40 : 500;

TEST_F(KillTest, AShardIsFinishedOrItsBeginningCanBeRecovered) {
  const std::vector<std::string> records = testing::written_records(0, 500, 8000);
  std::uint64_t recovered_some = 0;
  const auto work = [&] { return write_shard(target() + "/s.dvt", records); };
  kill_at_random(kRounds, work, [&](bool ended) {
    const bool finished = std::filesystem::exists(target() + "/s.dvt");
    EXPECT_TRUE(finished || !ended);
    for (const auto& entry : std::filesystem::directory_iterator(target())) {
      const std::string name = entry.path().filename();
      if (name == "s.dvt") {
        EXPECT_EQ(testing::records_left(entry.path()), records);
        continue;
      }
      EXPECT_TRUE(name.starts_with(".s.dvt.partial-")) << name;
      const std::string saved = folder_.path("saved.dvt");
      const Result<RecoverReport> report = recover(entry.path(), saved, {.overwrite = true});
      if (!report) {
        EXPECT_TRUE(report.error().is(Errc::not_dovetail)) << report.error().to_string();
        continue;  // killed before the first bytes
      }
      const std::vector<std::string> found = testing::records_left(saved);
      ASSERT_LE(found.size(), records.size());
      EXPECT_TRUE(std::equal(found.begin(), found.end(), records.begin()));
      recovered_some += found.empty() ? 0 : 1;
    }
  });
  EXPECT_GT(recovered_some, 0u);
}

TEST_F(KillTest, ADatasetIsFinishedOrHasNoManifest) {
  const std::vector<std::string> records = testing::written_records(0, 700, 8000);
  std::uint64_t recovered_some = 0;
  const auto work = [&] { return write_dataset(target(), records); };
  kill_at_random(kRounds, work, [&](bool ended) {
    if (std::filesystem::exists(target() + "/manifest.dvt")) {
      EXPECT_EQ(testing::records_left(target()), records);
      return;
    }
    EXPECT_FALSE(ended);
    for (const auto& entry : std::filesystem::directory_iterator(target())) {
      if (entry.path().filename().string().front() == '.') continue;
      EXPECT_TRUE(verify(entry.path()).value().ok()) << entry.path();
    }
    const std::string saved = folder_.path("saved");
    std::filesystem::remove_all(saved);
    const Result<RecoverReport> report = recover(target(), saved);
    if (!report) {
      EXPECT_FALSE(std::filesystem::exists(saved + "/manifest.dvt"));
      return;
    }
    // Shards are written side by side, so that each has a beginning of its own.
    const std::vector<std::string> found = testing::records_left(saved);
    auto at = records.begin();
    for (const std::string& record : found) {
      at = std::find(at, records.end(), record);
      ASSERT_NE(at, records.end()) << "a record that is none of them, or out of order";
      ++at;
    }
    recovered_some += found.empty() ? 0 : 1;
  });
  EXPECT_GT(recovered_some, 0u);
}

}  // namespace
}  // namespace dovetail
