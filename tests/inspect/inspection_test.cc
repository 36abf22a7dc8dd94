// SPDX-License-Identifier: Apache-2.0
#include "inspect/inspection.h"

#include <map>
#include <string>
#include <utility>

#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/sample_shards.h"

namespace dovetail::inspect {
namespace {

/// Blocks of three records: with a table, and, where all are of one size, without.
class InspectionTest : public test::FolderTest {
 protected:
  std::string shard_of(test::Records records) {
    test::write_shard(folder_.path(), "a.dvt", {.records = std::move(records), .run_records = 6, .block_records = 3});
    return folder_ / "a.dvt";
  }
  void damage(const std::string& path, const std::string& record) {
    test::flip_bit(path, as_chars(test::read_file(path)).find(record));
  }
};

TEST_F(InspectionTest, EveryWorkTellsItsProgressAndEndsWhereItReturnsFalse) {
  const std::string different = shard_of(test::numbered_records(30));
  for (const bool full : {false, true}) {
    std::map<std::string, int> calls;
    const auto count = [&](const Progress& progress) { return ++calls[progress.work] > 0; };
    ASSERT_TRUE(inspect_path(different, {.full = full, .features = true, .progress = count}));
    EXPECT_EQ(calls.size(), full ? 3u : 4u);
    EXPECT_GE(calls["reading"], 10);
    for (const auto& [work, times] : calls) {
      int left = times;
      const auto stop = [&, wanted = &work](const Progress& progress) {
        return progress.work != *wanted || --left > 0;
      };
      EXPECT_THAT(inspect_path(different, {.full = full, .features = true, .progress = stop}),
                  test::Fails(ErrorKind::cancelled))
          << work << ", full " << full;
    }
  }
}

TEST_F(InspectionTest, ReadingDamageAloneIsProgressToo) {
  const std::string path = shard_of({"one a", "one b", "one c", "two a", "two b", "two c"});
  damage(path, "one a");
  damage(path, "two a");
  int calls = 0;
  const auto stop = [&](const Progress& progress) { return progress.work != std::string("reading") || ++calls < 2; };
  EXPECT_THAT(inspect_path(path, {.full = true, .progress = stop}), test::Fails(ErrorKind::cancelled));
}

TEST_F(InspectionTest, ADamagedBlockIsCountedOnceHoweverItIsFound) {
  struct {
    test::Records records;
    const char* damaged;
    bool exact;  // without a table, the index has the sizes
  } const kCases[] = {{test::numbered_records(30), "record 13", false},
                      {{"same 1", "same 2", "same 3", "same 4", "same 5", "same 6"}, "same 5", true}};
  for (const auto& [records, damaged, exact] : kCases) {
    const std::string path = shard_of(records);
    damage(path, damaged);
    const RecordSurvey sampled = inspect_path(path, {}).value().survey;
    EXPECT_EQ(sampled.damaged_blocks, 1u);
    EXPECT_EQ(sampled.unreadable, 3u);
    EXPECT_EQ(sampled.exact, exact);
    const RecordSurvey all = inspect_path(path, {.full = true}).value().survey;
    EXPECT_EQ(all.damaged_blocks, 1u);
    EXPECT_EQ(all.unreadable, 3u);
    EXPECT_FALSE(all.exact);
    EXPECT_EQ(all.sizes.records(), records.size() - 3);
  }
}

}  // namespace
}  // namespace dovetail::inspect
