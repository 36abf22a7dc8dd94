// SPDX-License-Identifier: Apache-2.0
#include "writer/encode_pipeline.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/sample_records.h"

namespace dovetail::detail {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class EncodePipelineTest : public test::FolderTest {
 protected:
  std::unique_ptr<EncodePipeline> start(unsigned threads, std::uint64_t queued_bytes = 1 << 20) {
    const auto keep = [this](FinishedShard shard) -> Result<void> {
      finished_.push_back(std::move(shard));
      return {};
    };
    return EncodePipeline::start(target_, {.shard = {.dataset_id = DatasetId()},
                                           .threads = threads,
                                           .queued_bytes = queued_bytes,
                                           .on_shard = keep})
        .value();
  }
  static format::RawBlock block_of(std::size_t bytes) {
    format::RawBlock block;
    block.append(as_bytes(test::prose(bytes, bytes)));
    return block;
  }

  std::shared_ptr<const OutputFolder> target_ = OutputFolder::open(folder_.path()).value();
  std::vector<FinishedShard> finished_;
};

TEST_F(EncodePipelineTest, HoldsNoMoreBlocksThanItsWindowHoweverManyCome) {
  const auto pipeline = start(2);
  for (int i = 0; i < 1000; ++i) {
    format::RawBlock block = block_of(1000);
    ASSERT_TRUE(pipeline->add(block));
    EXPECT_TRUE(block.empty());
    if (i % 100 == 99) {
      ASSERT_TRUE(pipeline->end_shard({.run_records = 1, .records = 100}));
    }
  }
  EXPECT_LE(pipeline->blocks_held(), pipeline->window());
  ASSERT_TRUE(pipeline->finish());
  EXPECT_THAT(finished_, SizeIs(10));
}

TEST_F(EncodePipelineTest, HoldsNoMoreBytesThanItsLimit) {
  const auto pipeline = start(2, 2500);
  for (int i = 0; i < 100; ++i) {
    format::RawBlock block = block_of(1000);
    ASSERT_TRUE(pipeline->add(block));
  }
  EXPECT_LE(pipeline->blocks_held(), 2u);
  format::RawBlock large = block_of(5000);
  ASSERT_TRUE(pipeline->add(large)) << "a block above the limit goes alone";
  ASSERT_TRUE(pipeline->end_shard({.records = 101}));
  ASSERT_TRUE(pipeline->finish());
  EXPECT_THAT(finished_, SizeIs(1));
}

TEST_F(EncodePipelineTest, GivesTheMemoryOfHugeBlocksBack) {
  const auto pipeline = start(2);
  for (int i = 0; i < 3; ++i) {
    format::RawBlock block = block_of(9 << 20);
    ASSERT_TRUE(pipeline->add(block));
    EXPECT_EQ(block.bytes.capacity(), 0u);
  }
  ASSERT_TRUE(pipeline->end_shard({.records = 3}));
  ASSERT_TRUE(pipeline->finish());
  EXPECT_THAT(finished_, SizeIs(1));
  EXPECT_EQ(pipeline->blocks_held(), 0u);
}

TEST_F(EncodePipelineTest, LeavesItsFilesUnpublishedAndRemovesThem) {
  const auto pipeline = start(1);
  format::RawBlock block = block_of(10);
  ASSERT_TRUE(pipeline->add(block));
  ASSERT_TRUE(pipeline->end_shard({.records = 1}));
  ASSERT_TRUE(pipeline->finish());
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_EQ(finished_.front().info.name, "shard-000000.dvt");
  EXPECT_THAT(test::names_in(folder_.path()), ElementsAre(::testing::StartsWith(".shard-000000.dvt.partial-")));
  finished_.clear();
  EXPECT_THAT(test::names_in(folder_.path()), IsEmpty());
}

TEST_F(EncodePipelineTest, RemovesEverythingWhenDestroyedHalfWay) {
  {
    const auto pipeline = start(2);
    for (int i = 0; i < 30; ++i) {
      format::RawBlock block = block_of(1000);
      ASSERT_TRUE(pipeline->add(block));
      ASSERT_TRUE(pipeline->end_shard({.records = 1}));
    }
    EXPECT_FALSE(test::names_in(folder_.path()).empty());
    finished_.clear();
  }
  EXPECT_THAT(test::names_in(folder_.path()), IsEmpty());
}

TEST_F(EncodePipelineTest, FinishesNoShardThatLacksRecords) {
  const auto pipeline = start(1);
  format::RawBlock block = block_of(10);
  ASSERT_TRUE(pipeline->add(block));
  ASSERT_TRUE(pipeline->end_shard({.records = 2}));
  const auto finished = pipeline->finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().detail(), "1 of 2 records were written");
  EXPECT_THAT(test::names_in(folder_.path()), IsEmpty());
}

}  // namespace
}  // namespace dovetail::detail
