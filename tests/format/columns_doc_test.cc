// SPDX-License-Identifier: Apache-2.0
// The code of docs/columns.md, which repeats it, and the numbers that it names.
#include <dovetail/columns.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/example/example_encoder.h"

// [decode]
// Prints the labels of a batch; its records may lie anywhere.
int print_labels(const std::vector<dovetail::ByteView>& records, std::uint64_t longest_record) {
  const auto schema = dovetail::parse_schema("image:u8[28,28,1], label:i64, tokens:i32[*], weight:f32=1");
  dovetail::ColumnDecoder decoder = dovetail::ColumnDecoder::make(schema.value()).value();

  const auto rows = static_cast<std::uint32_t>(records.size());
  std::vector<std::uint64_t> memory(decoder.most_bytes(rows, longest_record) / 8 + 1);
  const auto slab = std::as_writable_bytes(std::span(memory));
  const auto layout = decoder.decode(records, slab);
  if (!layout) return std::printf("%s\n", layout.error().to_string().c_str());

  const dovetail::ColumnView labels = dovetail::view_column(decoder.schema(), **layout, slab, 1);
  for (const std::int64_t label : labels.as<std::int64_t>()) std::printf("label %d\n", static_cast<int>(label));
  const dovetail::ColumnView tokens = dovetail::view_column(decoder.schema(), **layout, slab, 2);
  return std::printf("row 0 has %d tokens\n", static_cast<int>(tokens.offsets[1]));
}
// [decode]

namespace dovetail::test {
namespace {

TEST(ColumnsDocTest, ItsSnippetPrintsTheLabels) {
  format::ExampleEncoder encoder;
  const std::string image(784, 'x');
  std::vector<std::vector<std::byte>> records(3);
  std::vector<ByteView> views;
  for (std::size_t i = 0; i < records.size(); ++i) {
    encoder.add_bytes("image", as_bytes(image));
    encoder.add_int("label", static_cast<std::int64_t>(40 + i));
    encoder.add_ints("tokens", std::vector<std::int64_t>{1, 2});
    encoder.encode(records[i]).value();
    views.emplace_back(records[i]);
  }
  ::testing::internal::CaptureStdout();
  EXPECT_GT(print_labels(views, records[0].size()), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "label 40\nlabel 41\nlabel 42\nrow 0 has 2 tokens\n");
}

TEST(ColumnsDocTest, NamesTheLimitsAndTheDtypesOfTheCode) {
  std::ifstream file(DOVETAIL_SOURCE_DIR "/docs/columns.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(),
              ::testing::HasSubstr("At most " + std::to_string(kMaxColumns) + " columns, " +
                                   std::to_string(kMaxColumnNameBytes / 1024) + " KiB for a name, " +
                                   std::to_string(kMaxColumnDimensions) + " dimensions, 2 GiB - 1 for a row"));
  for (int i = 0; i <= static_cast<int>(Dtype::bytes); ++i) {
    EXPECT_THAT(text.str(), ::testing::HasSubstr("`" + std::string(to_text(static_cast<Dtype>(i))) + "`"));
  }
}

}  // namespace
}  // namespace dovetail::test
