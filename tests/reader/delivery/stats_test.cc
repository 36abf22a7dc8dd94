// SPDX-License-Identifier: Apache-2.0
#include <dovetail/reader_stats.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>

#include <dovetail/batch_reader.h>

#include "tests/reader/delivery/injected_engine.h"
#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/cached_reads.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/gated_storage.h"

namespace dovetail::test {
namespace {

using namespace std::chrono_literals;

class StatsTest : public FolderTest {
 protected:
  Dataset make(const SampleShape& shape) { return make_sample(folder_.path("data"), shape); }

  static ReaderOptions options(StorageKind storage) { return {.plan = {.batch = 8}, .epochs = 1, .storage = storage}; }
  static std::uint64_t read_all(BatchReader& reader) {
    std::uint64_t batches = 0;
    for (const Batch& batch : reader.epoch()) batches += batch.rows() > 0 ? 1 : 0;
    return batches;
  }
};

TEST_F(StatsTest, EveryKindOfWorkTakesTimeAndNoMoreThanItsThreadsHave) {
  const Dataset dataset = make({.shard_records = {2000, 3000}});
  ReaderOptions asked = options(StorageKind::automatic);
  asked.decode_threads = 2;
  BatchReader reader = BatchReader::open(dataset, asked).value();
  EXPECT_EQ(read_all(reader), 625u);
  const ReaderStats stats = reader.stats();
  EXPECT_GT(stats.time_planning, 0ns);
  EXPECT_GT(stats.time_decoding, 0ns);
  EXPECT_GT(stats.time_gathering, 0ns);
  const auto life = stats.waiting_for_storage + stats.waiting_for_decode + stats.waiting_for_slot +
                    stats.waiting_for_consumer + stats.filling;
  // Two workers and the trainer.
  EXPECT_LE(stats.time_planning + stats.time_reading + stats.time_decoding, 3 * life);
  if (!can_read_without_waiting(dataset.shard_path(0))) GTEST_SKIP() << "here only the storage's threads read";
  EXPECT_GT(stats.time_reading, 0ns);
}

TEST_F(StatsTest, TheStorageIsNamedAndNeverAutomatic) {
  const Dataset dataset = make({.shard_records = {100}});
  BatchReader reader = BatchReader::open(dataset, options(StorageKind::automatic)).value();
  EXPECT_EQ(reader.stats().storage, StorageKind::pread);
  EXPECT_EQ(reader.stats().storage_note, "");
}

TEST_F(StatsTest, RecordsReadStraightIntoRowsAreCounted) {
  const Dataset dataset = make({.shard_records = {20, 20},
                                .min_bytes = 32 << 10,
                                .max_bytes = 40 << 10,
                                .codec = Codec::none,
                                .block_bytes = 1024});
  BatchReader reader = BatchReader::open(dataset, options(StorageKind::pread)).value();
  EXPECT_EQ(read_all(reader), 5u);
  const ReaderStats stats = reader.stats();
  EXPECT_EQ(stats.direct_reads, 40u);
  EXPECT_EQ(stats.direct_reads, stats.reads);
  EXPECT_EQ(stats.direct_bytes, dataset.raw_bytes());
}

TEST_F(StatsTest, ReadsThatWaitAreTimedByShardAndTheSlowestComeFirst) {
  for (const std::size_t shards : {3u, 7u}) {
    const Dataset dataset =
        make_sample(folder_.path(std::to_string(shards)), {.shard_records = std::vector<std::uint64_t>(shards, 400)});
    const auto wrap = [](std::unique_ptr<detail::Storage> inner) {
      return std::make_unique<GatedStorage>(std::move(inner), GatedStorage::Immediate::no);
    };
    const auto engine = open_engine(dataset, options(StorageKind::pread), wrap).value();
    while (engine->next().value().has_value()) continue;
    const ReaderStats stats = engine->stats();
    ASSERT_EQ(stats.slowest_shards.size(), std::min<std::size_t>(shards, 5));
    std::uint64_t reads = 0;
    for (std::size_t i = 0; i < stats.slowest_shards.size(); ++i) {
      const ShardReads& shard = stats.slowest_shards[i];
      reads += shard.reads;
      EXPECT_EQ(shard.file, dataset.shard_path(shard.shard));
      EXPECT_GT(shard.mean, 0ns);
      EXPECT_LE(shard.mean, shard.longest);
      EXPECT_GT(shard.bytes, 0u);
      if (i > 0) {
        EXPECT_LE(shard.mean, stats.slowest_shards[i - 1].mean);
      }
    }
    EXPECT_EQ(reads == stats.waiting_reads, shards == 3);
  }
}

TEST(StatsJson, HoldsWhatTheValuesSay) {
  ReaderStats stats;
  stats.time_decoding = 1500ms;
  stats.storage = StorageKind::io_uring_direct;
  stats.storage_note = "a \"note\"";
  stats.direct_reads = 7;
  stats.slowest_shards.push_back(
      {.file = "a\\b\xFF", .shard = 3, .reads = 2, .bytes = 9, .mean = 250us, .longest = 300us});
  const boost::json::value json = boost::json::parse(stats.to_json());
  EXPECT_EQ(json.at("time_decoding").as_double(), 1.5);
  EXPECT_EQ(json.at("storage").as_string(), "io_uring_direct");
  EXPECT_EQ(json.at("storage_note").as_string(), "a \"note\"");
  EXPECT_EQ(json.at("direct_reads").as_int64(), 7);
  const boost::json::value& shard = json.at("slowest_shards").at(0);
  EXPECT_EQ(shard.at("file").as_string(), "a\\b\uFFFD") << "names are bytes, JSON is UTF-8";
  EXPECT_EQ(shard.at("mean").as_double(), 0.00025);
}

TEST(StatsPrometheus, LabelsAreEscapedAndTheirNamesChecked) {
  ReaderStats stats;
  stats.batches = 3;
  const std::string text = stats.to_prometheus({{"job", "a \"b\"\\\nc"}, {"rank", "7"}}).value();
  EXPECT_NE(text.find("\ndovetail_reader_batches_total{job=\"a \\\"b\\\"\\\\\\nc\",rank=\"7\"} 3\n"), text.npos)
      << text;
  EXPECT_NE(stats.to_prometheus().value().find("\ndovetail_reader_batches_total 3\n"), text.npos);
  for (const char* name : {"", "1st", "a-b", "__name", "state", "status", "work", "storage"}) {
    EXPECT_THAT(stats.to_prometheus({{name, "x"}}), Fails(Errc::invalid_option)) << name;
  }
}

}  // namespace
}  // namespace dovetail::test
