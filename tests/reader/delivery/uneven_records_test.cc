// SPDX-License-Identifier: Apache-2.0
// Records of no bytes beside others, and trainers that only ask whether a batch is there.

#include <chrono>
#include <string>
#include <vector>

#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

using Records = std::vector<std::string>;

TEST(UnevenRecordsTest, AreDeliveredAsTheyWereWritten) {
  const std::string large(10'000, 'x');
  struct Case {
    const char* name;
    std::vector<Records> shards;
    Codec codec;
  };
  for (const Case& data :
       {Case{"empty ones, then others of one size", {Records(5, ""), Records(20, "12345678")}, Codec::none},
        Case{"the other way round", {Records(20, "12345678"), Records(5, "")}, Codec::none},
        Case{"only empty ones", {Records(9, "")}, Codec::snappy},
        Case{
            "blocks of an empty one before large ones", {{"", large, "", large, "a", large, "", large}}, Codec::snappy},
        Case{"the same, as they are", {{"", large, "", large, "a", large, "", large}}, Codec::none}}) {
    SCOPED_TRACE(data.name);
    TempFolder folder;
    DatasetWriterOptions writing{.shard = {.codec = data.codec, .block_bytes = 16 << 10, .run_records = 8}};
    DatasetWriter writer = DatasetWriter::create(folder.path("data"), writing).value();
    Records all;
    for (const Records& shard : data.shards) {
      if (!all.empty()) writer.next_shard().value();
      for (const std::string& record : shard) {
        writer.append(as_bytes(record)).value();
        all.push_back(record);
      }
    }
    writer.finish().value();
    for (const OrderKind order : {OrderKind::shuffle, OrderKind::sequential, OrderKind::global}) {
      ReaderOptions options{.plan = {.batch = 3, .order = order, .tail = Tail::pad}, .epochs = 2};
      BatchReader reader = BatchReader::open(Dataset::open(folder.path("data")).value(), options).value();
      for (int epoch = 0; epoch < 2; ++epoch) {
        std::uint64_t rows = 0;
        for (const Batch& batch : reader.epoch()) {
          for (std::uint32_t row = 0; row < batch.rows(); ++row) {
            if (batch.status()[row] == RowStatus::empty) continue;
            ASSERT_EQ(batch.status()[row], RowStatus::first);
            ASSERT_EQ(as_chars(batch.row(row)), all[batch.ids()[row]]);
            ++rows;
          }
        }
        EXPECT_EQ(rows, all.size());
      }
      EXPECT_TRUE(reader.stats().damaged.empty());
    }
  }
}

TEST(PollingTrainerTest, GetsItsBatchesFromAReaderOfOneThread) {
  TempFolder folder;
  const Dataset dataset = make_sample(folder.path("data"), {.shard_records = {3000, 3000}, .max_bytes = 100});
  ReaderOptions options{.plan = {.batch = 10}, .epochs = 1, .decode_threads = 1};
  BatchReader reader = BatchReader::open(dataset, options).value();
  std::uint64_t batches = 0;
  for (;;) {
    const Result<std::optional<Batch>> batch = reader.next(std::chrono::milliseconds(0));
    if (!batch.has_value()) {
      ASSERT_THAT(batch, Fails(Errc::not_yet));
      continue;
    }
    if (!batch->has_value()) break;
    ++batches;
  }
  EXPECT_EQ(batches, 600u);
}

}  // namespace
}  // namespace dovetail::test
