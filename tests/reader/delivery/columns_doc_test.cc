// SPDX-License-Identifier: Apache-2.0
// The code of docs/columns.md that reads batches.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/batch_reader.h>
#include <dovetail/dataset_writer.h>

#include "format/example/example_encoder.h"
#include "tests/reader/delivery/sample_dataset.h"

// [read]
// Adds up the labels of an epoch, and the tokens that it has.
std::pair<std::int64_t, std::size_t> labels_and_tokens(const std::string& path) {
  const auto dataset = dovetail::Dataset::open(path).value();
  dovetail::ReaderOptions options;
  options.plan.batch = 32;
  options.epochs = 1;
  options.columns = dataset.schema().value().pick({"label", "tokens"}).value();
  auto reader = dovetail::BatchReader::open(dataset, options).value();
  std::pair<std::int64_t, std::size_t> sums;
  for (const dovetail::Batch& batch : reader.epoch()) {
    for (const std::int64_t label : batch.column("label").value().as<std::int64_t>()) sums.first += label;
    sums.second += batch.column("tokens").value().as<std::int32_t>().size();
  }
  return sums;
}
// [read]

namespace dovetail::test {
namespace {

TEST(ColumnsReadDocTest, ItsSnippetAddsUpWhatWasWritten) {
  const TempFolder folder;
  DatasetWriterOptions options;
  options.shard.schema = parse_schema("label:i64, tokens:i32[*]").value();
  DatasetWriter writer = DatasetWriter::create(folder.path("data"), options).value();
  for (std::int64_t i = 0; i < 64; ++i) {
    format::ExampleEncoder encoder;
    encoder.add_int("label", i);
    encoder.add_ints("tokens", std::vector<std::int64_t>(static_cast<std::size_t>(i % 4), 7));
    std::vector<std::byte> record;
    encoder.encode(record).value();
    writer.append(record).value();
  }
  writer.finish().value();
  EXPECT_EQ(labels_and_tokens(folder.path("data")), std::pair(std::int64_t{63 * 32}, std::size_t{16 * 6}));
}

}  // namespace
}  // namespace dovetail::test
