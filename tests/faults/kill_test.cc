// SPDX-License-Identifier: Apache-2.0
// Writers that are killed at random moments: what is left is finished, or does not look so and can
// be recovered.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dovetail/convert.h>
#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>
#include <dovetail/recover.h>

#include "tests/faults/written_records.h"
#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/sample_shards.h"
#include "tests/support/sanitizers.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

bool write_shard(const std::string& path, const std::vector<std::string>& records) {
  Result<RecordWriter> writer = RecordWriter::create(path);
  for (const std::string& record : records) {
    if (!writer || !writer->append(as_bytes(record))) return false;
  }
  return writer && writer->finish();
}

bool write_dataset(const std::string& folder, const std::vector<std::string>& records, bool overwrite) {
  DatasetWriterOptions options{.shard = {.overwrite = overwrite}, .shard_bytes = 1 << 19, .encode_threads = 2};
  return test::write_dataset(folder, records, options).has_value();
}

class KillTest : public FolderTest {
 protected:
  void SetUp() override {
    if (kThreadSanitized) GTEST_SKIP() << "children that are killed show no races";
  }

  /// Runs `work` in a child that is killed at a random moment of the time that it takes, so many
  /// times. `begin` makes what is there before. `look` sees what is left, and returns true where
  /// the life shows the case that the test is about; where none of them does (the moments depend on
  /// how busy the machine is), there are up to ten times as many.
  template <class Begin, class Work, class Look>
  void kill_at_random(int rounds, Begin begin, Work work, Look look) {
    constexpr std::uint64_t kSeed = 20261122;
    Draws draws(kSeed);
    std::chrono::microseconds usual{1'000'000};
    int killed = 0;
    int shown = 0;
    int round = 0;
    for (; (round < rounds || (shown == 0 && round < 10 * rounds)) && !HasFailure(); ++round) {
      SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
      fs::remove_all(disk());
      fs::create_directory(disk());
      begin();
      const Clock::time_point began = Clock::now();
      const pid_t child = ::fork();
      if (child == 0) ::_exit(work() ? 0 : 1);
      ASSERT_GT(child, 0);
      if (round >= 3) {  // the first ones show how long it takes
        // Every second time about the end, when names change.
        const auto span = static_cast<std::uint64_t>(usual.count());
        const std::uint64_t moment = round % 2 == 0 ? draws.below(span) : span * 3 / 4 + draws.below(span / 2);
        std::this_thread::sleep_for(std::chrono::microseconds(moment));
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
      shown += look(ended) ? 1 : 0;
    }
    std::cout << round << " lives, " << killed << " killed, " << shown << " shown, seed " << kSeed << std::endl;
    EXPECT_GT(shown, 0);
    RecordProperty("killed", killed);
  }

  std::string disk() const { return folder_.path("disk"); }
  std::string target() const { return disk() + "/target"; }
};

const int kRounds = kSanitized ? 40 : 500;

TEST_F(KillTest, AShardIsFinishedOrItsBeginningCanBeRecovered) {
  const std::vector<std::string> records = written_records(0, 500, 8000);
  const auto begin = [&] { fs::create_directory(target()); };
  const auto work = [&] { return write_shard(target() + "/s.dvt", records); };
  kill_at_random(kRounds, begin, work, [&](bool ended) {
    bool recovered_some = false;
    const bool finished = fs::exists(target() + "/s.dvt");
    EXPECT_TRUE(finished || !ended);
    for (const auto& entry : fs::directory_iterator(target())) {
      const std::string name = entry.path().filename();
      if (name == "s.dvt") {
        EXPECT_TRUE(records_left(entry.path()) == records);
        continue;
      }
      EXPECT_TRUE(name.starts_with(".s.dvt.partial-")) << name;
      const std::string saved = folder_.path("saved.dvt");
      const Result<RecoverReport> report = recover(entry.path(), saved, {.overwrite = true});
      if (!report) {
        EXPECT_THAT(report, Fails(Errc::not_dovetail));
        continue;  // killed before the first bytes
      }
      const std::vector<std::string> found = records_left(saved);
      EXPECT_TRUE(std::mismatch(found.begin(), found.end(), records.begin(), records.end()).first == found.end());
      recovered_some |= !found.empty();
    }
    return recovered_some;
  });
}

TEST_F(KillTest, ADatasetIsWholeOrItsBeginningCanBeRecovered) {
  const std::vector<std::string> records = written_records(0, 700, 8000);
  const std::vector<std::string> next = written_records(900, 2);
  const auto work = [&] { return write_dataset(target(), records, false); };
  kill_at_random(
      kRounds, [] {}, work,
      [&](bool ended) {
        bool recovered_some = false;
        const std::string saved = folder_.path("saved");
        fs::remove_all(saved);
        if (fs::exists(target())) {
          EXPECT_TRUE(records_left(target()) == records);
        } else if (const auto report = recover(target() + ".partial", saved); report) {
          // Shards are written side by side, so that each has a beginning of its own.
          const std::vector<std::string> found = records_left(saved);
          auto at = records.begin();
          for (const std::string& record : found) {
            at = std::find(at, records.end(), record);
            EXPECT_NE(at, records.end()) << "a record that is none of them, or out of order";
            if (at != records.end()) ++at;
          }
          recovered_some = !found.empty();
        } else {
          EXPECT_FALSE(fs::exists(saved)) << report.error().to_string();
        }
        EXPECT_TRUE(!ended || fs::exists(target()));
        EXPECT_TRUE(write_dataset(target(), next, true)) << "whatever is left";
        EXPECT_TRUE(records_left(target()) == next);
        EXPECT_THAT(names_left(disk()), ElementsAre("target"));
        return recovered_some;
      });
}

TEST_F(KillTest, ADatasetThatReplacesAnotherIsThereOrTheOtherIs) {
  const std::vector<std::string> old_records = written_records(900, 300, 8000);
  const std::vector<std::string> records = written_records(0, 300, 8000);
  const std::string older = folder_.path("older");
  ASSERT_TRUE(write_dataset(older, old_records, false));
  const auto begin = [&] { fs::copy(older, target(), fs::copy_options::recursive); };
  const auto work = [&] { return write_dataset(target(), records, true); };
  kill_at_random(kRounds, begin, work, [&](bool ended) {
    const std::vector<std::string> found = records_left(target());
    EXPECT_TRUE(found == records || (!ended && found == old_records)) << found.size() << " records";
    EXPECT_TRUE(write_dataset(target(), records, true)) << "whatever is left";
    EXPECT_TRUE(records_left(target()) == records);
    EXPECT_THAT(names_left(disk()), ElementsAre("target"));
    return !ended;
  });
}

TEST_F(KillTest, ASplitReplacesADatasetAsAWholeAndIsContinued) {
  const std::vector<std::string> old_records = written_records(0, 20);
  const std::string older = folder_.path("older");
  ASSERT_TRUE(write_dataset(older, old_records, false));
  std::ofstream lines(folder_.path("lines.txt"));
  for (int i = 0; i < 20'000; ++i) lines << "line " << i << std::string(static_cast<std::size_t>(i % 70), '.') << '\n';
  lines.close();
  ConvertOptions options{.sources = {folder_.path("lines.txt")}, .shards = 4};
  options.split = {{"train", 0.8}, {"val", 0.2}};
  options.writer.shard.overwrite = true;
  options.jobs = 2;
  const auto split_left = [](const std::string& folder) {
    return std::pair(records_left(folder + "/train"), records_left(folder + "/val"));
  };
  ASSERT_TRUE(convert(folder_.path("undisturbed"), options));
  const auto expected = split_left(folder_.path("undisturbed"));
  std::uint64_t marked = 0;
  const auto begin = [&] { fs::copy(older, target(), fs::copy_options::recursive); };
  const auto work = [&] { return convert(target(), options).has_value(); };
  kill_at_random(kRounds, begin, work, [&](bool ended) {
    const std::vector<std::string> names = names_left(target());
    const bool old_one = fs::exists(target() + "/manifest.dvt");
    if (old_one) {
      EXPECT_FALSE(ended);
      EXPECT_TRUE(records_left(target()) == old_records);
      EXPECT_EQ(names.size(), 2u);
    } else {
      EXPECT_TRUE(split_left(target()) == expected);
      EXPECT_THAT(names, Each(AnyOf("train", "val", StartsWith(".dovetail-"))));
      marked += names.size() > 2 ? 1 : 0;
    }
    const auto again = convert(target(), options);
    EXPECT_TRUE(again) << again.error().to_string();
    EXPECT_TRUE(split_left(target()) == expected);
    EXPECT_THAT(names_left(target()), UnorderedElementsAre("train", "val"));
    EXPECT_THAT(names_left(disk()), ElementsAre("target"));
    return old_one;
  });
  std::cout << "the new one with marks " << marked << " times" << std::endl;
}

}  // namespace
}  // namespace dovetail::test
