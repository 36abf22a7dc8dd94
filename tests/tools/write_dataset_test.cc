// SPDX-License-Identifier: Apache-2.0
#include "tools/records/write_dataset.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fails.h"
#include "tests/support/files.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/sample_shards.h"

namespace dovetail::tools {
namespace {

/// Shards of many pieces, of one record, and without records.
class WriteDatasetTest : public test::FolderTest {
 protected:
  void SetUp() override {
    std::vector<ShardInfo> shards;
    for (const std::size_t records : {4000u, 1u, 0u, 0u, 3000u, 0u}) {
      const std::uint32_t shard = static_cast<std::uint32_t>(shards.size());
      test::ShardSpec spec;
      spec.records = test::sample_records(records, 2000, shard);
      spec.codec = shard == 0 ? Codec::snappy : Codec::none;
      spec.run_records = spec.block_records = 16;
      spec.shard_number = shard;
      shards.push_back(test::write_shard(folder_.path(), name_of(shard), spec));
      records_.insert(records_.end(), spec.records.begin(), spec.records.end());
    }
    test::write_manifest(folder_ / "manifest.dvt", shards);
  }

  static std::string name_of(std::uint32_t shard) { return "shard-" + std::to_string(shard) + ".dvt"; }

  /// The text of records [first, end).
  std::string expected(std::uint64_t first, std::uint64_t end) const {
    std::string text;
    for (std::uint64_t id = first; id < end; ++id) text += records_[id] + '\n';
    return text;
  }

  /// The text that is written, and how writing ended.
  std::pair<std::string, Result<void>> write(std::uint64_t first, std::uint64_t end, unsigned threads) const {
    const Dataset dataset = Dataset::open(folder_.path()).value();
    const std::string path = folder_ / "text";
    Sink out = Sink::create(path).value();
    const Result<void> done = write_dataset(out, dataset, {.first = first, .end = end}, OutputForm::text, threads);
    EXPECT_TRUE(out.finish());
    const test::Bytes bytes = test::read_file(path);
    return {std::string(as_chars(bytes)), done};
  }

  test::Records records_;
};

TEST_F(WriteDatasetTest, WritesEveryRangeInOrder) {
  ASSERT_EQ(records_.size(), 7001u);
  const std::pair<std::uint64_t, std::uint64_t> ranges[] = {{0, 7001}, {0, 0},       {7001, 7001}, {0, 1},
                                                            {17, 33},  {3990, 4010}, {4000, 4001}, {4001, 7001},
                                                            {1, 7000}, {6999, 7001}};
  for (const unsigned threads : {1u, 3u, 8u}) {
    for (const auto& [first, end] : ranges) {
      const auto [text, done] = write(first, end, threads);
      EXPECT_TRUE(done);
      EXPECT_TRUE(text == expected(first, end)) << first << ':' << end << ", " << threads << " threads";
    }
  }
}

TEST_F(WriteDatasetTest, WritesWhatIsBeforeTheFirstDamage) {
  const std::string shard = folder_ / name_of(4);
  test::flip_bit(shard, std::filesystem::file_size(shard) / 2);
  test::flip_bit(shard, std::filesystem::file_size(shard) * 3 / 4);
  const Result<VerifyReport> report = verify(folder_.path());
  ASSERT_TRUE(report && report->damaged.size() == 2);
  const LostRange& lost = report->damaged.front();
  for (const unsigned threads : {1u, 3u, 8u}) {
    const auto [text, done] = write(0, records_.size(), threads);
    EXPECT_THAT(done, test::Fails(ErrorKind::damaged).in(shard));
    EXPECT_EQ(done.error().offset(), lost.offset);
    EXPECT_TRUE(text == expected(0, 4001 + lost.first_record)) << threads;
  }
}

TEST_F(WriteDatasetTest, WritesWhatIsBeforeAShardThatIsMissing) {
  std::filesystem::remove(folder_ / name_of(4));
  for (const unsigned threads : {1u, 3u}) {
    for (const std::uint64_t end : {std::uint64_t{4500}, std::uint64_t{7001}}) {
      const auto [text, done] = write(5, end, threads);
      EXPECT_THAT(done, test::Fails(ErrorKind::io).in(folder_ / name_of(4)));
      EXPECT_TRUE(text == expected(5, 4001));
    }
  }
}

TEST_F(WriteDatasetTest, EndsWhereTheOutputIsFull) {
  const Dataset dataset = Dataset::open(folder_.path()).value();
  Sink out = Sink::create("/dev/full").value();
  EXPECT_TRUE(write_dataset(out, dataset, {.first = 0, .end = 7001}, OutputForm::text, 3));
  EXPECT_FALSE(out.good());
  EXPECT_FALSE(out.finish());
}

TEST_F(WriteDatasetTest, DamageBehindTheEndOfTheOutputIsNoError) {
  const std::string shard = folder_ / name_of(0);
  test::flip_bit(shard, std::filesystem::file_size(shard) / 5);
  const Dataset dataset = Dataset::open(folder_.path()).value();
  // Threads may find the damage before the output is full.
  for (int i = 0; i < 30; ++i) {
    Sink out = Sink::create("/dev/full").value();
    ASSERT_TRUE(write_dataset(out, dataset, {.first = 0, .end = 7001}, OutputForm::text, 8)) << i;
    EXPECT_FALSE(out.good());
  }
}

}  // namespace
}  // namespace dovetail::tools
