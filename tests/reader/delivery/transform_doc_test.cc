// SPDX-License-Identifier: Apache-2.0
// The code of docs/transform.md.
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include <dovetail/batch_reader.h>
#include <dovetail/dataset_writer.h>

#include "tests/reader/delivery/sample_dataset.h"

// [sum]
// Reads an epoch of records that are pairs of small numbers; gives the sum of their products.
double sum_of_products(const std::string& path) {
  dovetail::ReaderOptions options;
  options.plan.batch = 32;
  options.epochs = 1;
  options.columns = dovetail::parse_schema("product:f32").value();
  options.transform.fill = [](const dovetail::TransformInput& input,
                              dovetail::RowWriter& row) -> dovetail::Result<void> {
    const dovetail::ByteView pair = input.record;
    if (pair.size() != 2) return dovetail::Error(dovetail::Errc::rejected_record, "not a pair");
    const int product = std::to_integer<int>(pair[0]) * std::to_integer<int>(pair[1]);
    row.values<float>(0)[0] = static_cast<float>(product);
    return {};
  };
  auto reader = dovetail::BatchReader::open(path, options).value();
  double sum = 0;
  for (const dovetail::Batch& batch : reader.epoch()) {
    for (const float product : batch.column("product").value().as<float>()) sum += product;
  }
  return sum;
}
// [sum]

namespace dovetail::test {
namespace {

TEST(TransformDocTest, ItsSnippetAddsUpTheProducts) {
  const TempFolder folder;
  DatasetWriter writer = DatasetWriter::create(folder.path("data"), {}).value();
  for (int i = 0; i < 64; ++i) writer.append(std::string{static_cast<char>(i), '\2'}).value();
  writer.finish().value();
  EXPECT_EQ(sum_of_products(folder.path("data")), 63 * 64);
}

}  // namespace
}  // namespace dovetail::test
