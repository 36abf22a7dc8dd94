// SPDX-License-Identifier: Apache-2.0
#include "writer/block_cutter.h"

#include <string>
#include <vector>

#include "format/layout.h"
#include "tests/support/fails.h"
#include "tests/support/sample_records.h"

namespace dovetail::detail {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint32_t kBlockBytes = 1024;

/// Collects blocks as the lists of their records' sizes.
struct Cut {
  using Block = std::vector<std::size_t>;

  explicit Cut(const WriterOptions& options)
      : cutter(options, [this](const format::RawBlock& raw) {
          Block block;
          std::uint32_t begin = 0;
          for (const std::uint32_t end : raw.ends) {
            block.push_back(end - begin);
            begin = end;
          }
          text += as_chars(raw.bytes);
          blocks.push_back(std::move(block));
          return Result<void>();
        }) {}

  void add(std::size_t record_bytes, std::size_t count = 1) {
    const std::string record = test::noise(record_bytes, record_bytes);
    for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(cutter.append(as_bytes(record)));
  }
  ShardCut end() { return cutter.end_shard().value(); }
  std::vector<std::size_t> block_records() const {
    std::vector<std::size_t> sizes;
    for (const Block& block : blocks) sizes.push_back(block.size());
    return sizes;
  }

  std::vector<Block> blocks;
  std::string text;
  BlockCutter cutter;
};

WriterOptions with_run(std::uint64_t run_records) {
  return {.block_bytes = kBlockBytes, .run_bytes = 1 << 20, .run_records = run_records};
}

TEST(BlockCutterTest, ClosesABlockBeforeTheRecordThatIsTooMuch) {
  Cut cut(with_run(1000));
  cut.add(400, 3);  // two fit into 1024, three do not
  cut.add(224);     // 400 + 224 fit
  cut.add(400);     // and exactly 1024 bytes do
  cut.add(1);
  cut.end();
  EXPECT_THAT(cut.blocks, ElementsAre(ElementsAre(400, 400), ElementsAre(400, 224, 400), ElementsAre(1)));
}

TEST(BlockCutterTest, ClosesABlockAtEveryMultipleOfTheRun) {
  Cut cut(with_run(3));
  cut.add(10, 7);
  EXPECT_EQ(cut.end().run_records, 3u);
  EXPECT_THAT(cut.block_records(), ElementsAre(3, 3, 1));
}

TEST(BlockCutterTest, CountsRunsFromTheBeginningOfEachShard) {
  Cut cut(with_run(3));
  cut.add(10, 2);
  cut.end();
  cut.add(10, 4);
  cut.end();
  EXPECT_THAT(cut.block_records(), ElementsAre(2, 3, 1));
}

TEST(BlockCutterTest, GivesARecordOfHalfABlockItsOwn) {
  Cut cut(with_run(1000));
  cut.add(1);
  cut.add(kBlockBytes / 2);
  cut.add(1);
  cut.add(kBlockBytes / 2 - 1);
  cut.add(100 * kBlockBytes);
  cut.add(0);
  cut.end();
  EXPECT_THAT(cut.blocks,
              ElementsAre(ElementsAre(1), ElementsAre(512), ElementsAre(1, 511), ElementsAre(102400), ElementsAre(0)));
}

TEST(BlockCutterTest, ClosesABlockAtTheFormatsLimitOfRecords) {
  Cut cut(with_run(format::kMaxRunRecords));
  cut.add(0, format::kMaxBlockRecords + 1);
  cut.end();
  EXPECT_THAT(cut.block_records(), ElementsAre(format::kMaxBlockRecords, 1));
}

TEST(BlockCutterTest, MakesNoBlocksWithoutRecords) {
  Cut cut(with_run(0));
  EXPECT_EQ(cut.end().run_records, 1u);
  EXPECT_THAT(cut.blocks, IsEmpty());
}

TEST(BlockCutterTest, ChoosesTheRunFromTheMeanOfTheFirstRecords) {
  Cut cut({.block_bytes = kBlockBytes, .run_bytes = 4000});
  cut.add(256, 4096);
  EXPECT_THAT(cut.blocks, IsEmpty()) << "without one record, they have less than 1 MiB: the choice is open";
  cut.add(256, 1);
  EXPECT_EQ(cut.blocks.size(), 4u * (4097 / 15));
  EXPECT_EQ(cut.end().run_records, 15u);
  cut.blocks.resize(5);
  EXPECT_THAT(cut.block_records(), ElementsAre(4, 4, 4, 3, 4));
}

TEST(BlockCutterTest, ChoosesARunThatIsWithinTheTarget) {
  Cut equal({.block_bytes = kBlockBytes, .run_bytes = 1000});
  equal.add(280, 9);  // 4 records reach 1000, and 3 are within
  EXPECT_EQ(equal.end().run_records, 3u);
  Cut varied({.block_bytes = kBlockBytes, .run_bytes = 1000});
  varied.add(200, 4);
  varied.add(280);  // a mean of 216: 3 are within three quarters
  EXPECT_EQ(varied.end().run_records, 3u);
}

TEST(BlockCutterTest, ChoosesWithWhatThereIsAtTheEndOfAShardThatIsSmall) {
  Cut cut({.block_bytes = kBlockBytes, .run_bytes = 4000});
  cut.add(100, 2);
  EXPECT_EQ(cut.end().run_records, 40u);
  cut.add(1, 100);
  EXPECT_EQ(cut.end().run_records, 40u) << "once for all shards";
}

TEST(BlockCutterTest, ChoosesARunOfOneForRecordsAboveIt) {
  Cut cut({.block_bytes = kBlockBytes, .run_bytes = 4000});
  cut.add(50'000);
  cut.add(1, 3);
  EXPECT_EQ(cut.end().run_records, 1u);
  EXPECT_THAT(cut.block_records(), ElementsAre(1, 1, 1, 1));
}

TEST(BlockCutterTest, HoldsBackABoundedNumberOfEmptyRecords) {
  Cut cut({.block_bytes = kBlockBytes, .run_bytes = 4000});
  cut.add(0, format::kMaxBlockRecords - 1);
  EXPECT_THAT(cut.blocks, IsEmpty());
  cut.add(0, 2);
  EXPECT_EQ(cut.block_records().front(), format::kMaxBlockRecords);
  EXPECT_EQ(cut.end().run_records, format::kMaxBlockRecords);
}

TEST(BlockCutterTest, KeepsEveryByteInOrderAndFingerprintsEachShard) {
  const test::Records records = test::sample_records(500, 700, 1);
  Cut cut({.block_bytes = kBlockBytes, .run_bytes = 10'000});
  std::string expected;
  for (int shard = 0; shard < 2; ++shard) {
    format::RecordFingerprint fingerprint;
    for (const std::string& record : records) {
      ASSERT_TRUE(cut.cutter.append(as_bytes(record)));
      fingerprint.add(as_bytes(record));
      expected += record;
    }
    EXPECT_EQ(cut.end().fingerprint, fingerprint.value());
  }
  EXPECT_EQ(cut.text, expected);
  EXPECT_THAT(cut.blocks, Each(::testing::Not(IsEmpty())));
}

TEST(BlockCutterTest, PassesAFailureOn) {
  BlockCutter cutter(with_run(1), [](const format::RawBlock&) { return Result<void>(Error(Errc::closed)); });
  EXPECT_THAT(cutter.append(as_bytes("a")), test::Fails(Errc::closed));
}

}  // namespace
}  // namespace dovetail::detail
