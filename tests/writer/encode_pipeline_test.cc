// SPDX-License-Identifier: Apache-2.0
#include "writer/encode_pipeline.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/decoded_shards.h"
#include "tests/support/fails.h"
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

class ShardsOfPipelineTest : public test::FolderTest {
 protected:
  template <class OnShard>
  std::unique_ptr<EncodePipeline> start(unsigned threads, OnShard on_shard) const {
    const WriterOptions shard{.block_bytes = 1024, .run_records = 10, .dataset_id = test::sample_dataset_id()};
    return EncodePipeline::start(OutputFolder::open(folder_.path()).value(),
                                 {.shard = shard, .threads = threads, .on_shard = on_shard})
        .value();
  }
  std::unique_ptr<EncodePipeline> start(unsigned threads) {
    return start(threads, [this](FinishedShard shard) {
      infos_.push_back(shard.info);
      return shard.file.publish(false);
    });
  }
  static void write(EncodePipeline& pipeline, std::uint32_t shard, const test::Records& records) {
    pipeline.begin_shard(shard).value();
    for (const std::string& record : records) pipeline.append(as_bytes(record)).value();
    pipeline.end_shard().value();
  }

  std::vector<ShardInfo> infos_;
};

TEST_F(ShardsOfPipelineTest, WritesAnyShardsInAnyOrderOfNumbers) {
  const test::Records records = test::sample_records(300, 400, 1);
  const auto pipeline = start(2);
  for (const std::uint32_t shard : {7u, 2u, 900'000u}) write(*pipeline, shard, records);
  write(*pipeline, 3, {});
  pipeline->finish().value();
  EXPECT_THAT(test::names_in(folder_.path()),
              ElementsAre("shard-000002.dvt", "shard-000003.dvt", "shard-000007.dvt", "shard-900000.dvt"));
  for (const std::uint32_t shard : {7u, 2u, 900'000u}) {
    const test::DecodedShard read =
        test::read_shard_file(folder_ / ("shard-" + std::to_string(1'000'000 + shard).substr(1) + ".dvt"));
    EXPECT_TRUE(read.records == records);
    EXPECT_EQ(read.header.shard_number, shard);
  }
  ASSERT_EQ(infos_.size(), 4u);
  EXPECT_EQ(infos_[0].name, "shard-000007.dvt") << "they are given out in the order in which they ended";
  EXPECT_EQ(infos_[3].records, 0u);
}

TEST_F(ShardsOfPipelineTest, TheBytesOfAShardDependOnItAlone) {
  const test::Records records = test::sample_records(300, 400, 2);
  const auto first = start(1);
  write(*first, 5, records);
  first->finish().value();
  const test::Bytes alone = test::read_file(folder_ / "shard-000005.dvt");
  std::filesystem::remove(folder_ / "shard-000005.dvt");
  const auto second = start(3);
  write(*second, 4, test::sample_records(77, 900, 3));
  write(*second, 5, records);
  second->finish().value();
  EXPECT_EQ(test::read_file(folder_ / "shard-000005.dvt"), alone);
}

TEST_F(ShardsOfPipelineTest, WhatHasNotEndedIsRemoved) {
  auto pipeline = start(2);
  write(*pipeline, 0, test::sample_records(50, 400, 4));
  pipeline->begin_shard(1).value();
  for (const std::string& record : test::sample_records(50, 400, 5)) pipeline->append(as_bytes(record)).value();
  pipeline->finish().value();
  pipeline.reset();
  EXPECT_THAT(test::names_in(folder_.path()), ElementsAre("shard-000000.dvt"));
}

TEST_F(ShardsOfPipelineTest, AFailureOfWhoGetsAShardComesBack) {
  const auto refuse = [](FinishedShard) -> Result<void> { return Error(Errc::busy); };
  const auto pipeline = start(1, refuse);
  write(*pipeline, 0, {"a"});
  EXPECT_THAT(pipeline->finish(), test::Fails(Errc::busy));
  EXPECT_THAT(test::names_in(folder_.path()), IsEmpty());
}

}  // namespace
}  // namespace dovetail::detail
