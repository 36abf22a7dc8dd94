// SPDX-License-Identifier: Apache-2.0
#include "writer/shard_stream.h"

#include <filesystem>

#include "tests/support/decoded_shards.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::detail {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ShardStreamTest : public test::FolderTest {
 protected:
  template <class OnShard>
  std::unique_ptr<ShardStream> start(unsigned threads, OnShard on_shard) const {
    const WriterOptions shard{.block_bytes = 1024, .run_records = 10, .dataset_id = test::sample_dataset_id()};
    return ShardStream::start(OutputFolder::open(folder_.path()).value(),
                              {.shard = shard, .threads = threads, .on_shard = on_shard})
        .value();
  }
  std::unique_ptr<ShardStream> start(unsigned threads) {
    return start(threads, [this](FinishedShard shard) {
      infos_.push_back(shard.info);
      return shard.file.publish(false);
    });
  }
  static void write(ShardStream& stream, std::uint32_t shard, const test::Records& records) {
    stream.begin(shard).value();
    for (const std::string& record : records) stream.append(as_bytes(record)).value();
    stream.end().value();
  }

  std::vector<ShardInfo> infos_;
};

TEST_F(ShardStreamTest, WritesAnyShardsInAnyOrderOfNumbers) {
  const test::Records records = test::sample_records(300, 400, 1);
  const auto stream = start(2);
  for (const std::uint32_t shard : {7u, 2u, 900'000u}) write(*stream, shard, records);
  write(*stream, 3, {});
  stream->finish().value();
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

TEST_F(ShardStreamTest, TheBytesOfAShardDependOnItAlone) {
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

TEST_F(ShardStreamTest, WhatHasNotEndedIsRemoved) {
  auto stream = start(2);
  write(*stream, 0, test::sample_records(50, 400, 4));
  stream->begin(1).value();
  for (const std::string& record : test::sample_records(50, 400, 5)) stream->append(as_bytes(record)).value();
  stream->finish().value();
  stream.reset();
  EXPECT_THAT(test::names_in(folder_.path()), ElementsAre("shard-000000.dvt"));
}

TEST_F(ShardStreamTest, AFailureOfWhoGetsAShardComesBack) {
  const auto refuse = [](FinishedShard) -> Result<void> { return Error(Errc::busy); };
  const auto stream = start(1, refuse);
  write(*stream, 0, {"a"});
  EXPECT_THAT(stream->finish(), test::Fails(Errc::busy));
  EXPECT_THAT(test::names_in(folder_.path()), IsEmpty());
}

}  // namespace
}  // namespace dovetail::detail
