// SPDX-License-Identifier: Apache-2.0
// Rows of columns that a function fills.
#include <dovetail/transform.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/columns.h>
#include <dovetail/shard_info.h>

#include "format/try.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

constexpr const char* kFilled = "pair:i32[2], label:i64=7, tokens:i32[*], name:bytes, tags:bytes[*]=[]";

class RowWriterTest : public ::testing::Test {
 protected:
  using Fill = std::function<Result<void>(RowWriter&)>;

  void SetUp() override { ASSERT_TRUE(decoder_.begin(kRows, std::as_writable_bytes(std::span(slab_)))); }
  const ColumnLayout& finish() { return *decoder_.finish(std::as_writable_bytes(std::span(slab_))).value(); }
  ColumnView column(const ColumnLayout& layout, std::size_t i) {
    return view_column(decoder_.schema(), layout, std::as_bytes(std::span(slab_)), i);
  }
  static Result<void> fill(RowWriter& row, std::int32_t number) {
    row.values<std::int32_t>(0)[0] = number;
    row.values<std::int32_t>(0)[1] = -number;
    const std::vector<std::int32_t> tokens(static_cast<std::size_t>(number), number);
    DOVETAIL_TRY(row.set(2, std::as_bytes(std::span(tokens))));
    DOVETAIL_TRY(row.set(3, as_bytes("row " + std::to_string(number))));
    const std::array<std::string_view, 2> tags{"a", "bc"};
    return row.set_texts(4, std::span(tags).first(static_cast<std::size_t>(number % 3)));
  }

  static constexpr std::uint32_t kRows = 3;
  ColumnDecoder decoder_ = ColumnDecoder::make(parse_schema(kFilled).value()).value();
  std::vector<std::uint64_t> slab_ = std::vector<std::uint64_t>(4096);
};

TEST_F(RowWriterTest, FillsColumnsOfEveryKind) {
  for (const std::uint32_t row : {0u, 1u}) {
    ASSERT_TRUE(decoder_.add(row, [&](RowWriter& writer) {
      EXPECT_EQ(writer.schema().columns.size(), 5u);
      return fill(writer, static_cast<std::int32_t>(row) + 1);
    }));
  }
  ASSERT_TRUE(decoder_.add(2, [](RowWriter& writer) -> Result<void> {
    const std::array<std::int32_t, 2> pair{5, 6};
    const std::int64_t label = 9;
    DOVETAIL_TRY(writer.set(0, std::as_bytes(std::span(pair))));
    DOVETAIL_TRY(writer.set(1, std::as_bytes(std::span(&label, 1))));
    DOVETAIL_TRY(writer.set(2, {}));
    return writer.set(3, {});
  }));
  const ColumnLayout& layout = finish();
  EXPECT_THAT(column(layout, 0).as<std::int32_t>(), ElementsAre(1, -1, 2, -2, 5, 6));
  EXPECT_THAT(column(layout, 1).as<std::int64_t>(), ElementsAre(7, 7, 9)) << "what is not set gets its fallback";
  EXPECT_THAT(column(layout, 2).as<std::int32_t>(), ElementsAre(1, 2, 2));
  EXPECT_THAT(column(layout, 2).offsets, ElementsAre(0, 1, 3, 3));
  EXPECT_EQ(column(layout, 3).text(1), "row 2");
  EXPECT_EQ(column(layout, 3).text(2), "");
  EXPECT_THAT(column(layout, 4).offsets, ElementsAre(0, 1, 3, 3));
  EXPECT_EQ(column(layout, 4).text(2), "bc");
}

TEST_F(RowWriterTest, WhatIsRefusedLeavesTheRowEmpty) {
  struct Case {
    Fill fill;
    const char* why;
  };
  const std::array<std::byte, 5> five{};
  const Case cases[] = {
      {[](RowWriter&) -> Result<void> { return Error(Errc::rejected_record, "too dark"); }, "too dark"},
      {[](RowWriter& row) -> Result<void> {
         row.bytes(0);
         return {};
       },
       "column \"tokens\" is not set; set it, or give it a fallback, such as tokens:i32[*]=[]"},
      {[&](RowWriter& row) { return row.set(0, five); }, "column \"pair\": 5 bytes, expected 8"},
      {[&](RowWriter& row) { return row.set(2, five); }, "column \"tokens\": 5 bytes, expected a multiple of 4"},
      {[](RowWriter& row) { return row.set(4, {}); }, "column \"tags\": it has several texts per row; use set_texts"},
      {[](RowWriter& row) { return row.set_texts(3, {}); }, "column \"name\": it does not have a list of texts"},
      {[](RowWriter& row) { return row.set(5, {}); }, "column 5 is set, but the schema has 5"},
      {[](RowWriter& row) { return row.set_texts(9, {}); }, "column 9 is set, but the schema has 5"},
  };
  for (const Case& tried : cases) {
    SetUp();
    ASSERT_TRUE(decoder_.add(0, [](RowWriter& row) { return fill(row, 2); }));
    const std::uint64_t held = decoder_.held_bytes();
    const Result<void> added = decoder_.add(1, [&](RowWriter& row) -> Result<void> {
      EXPECT_TRUE(row.bytes(2).empty());
      EXPECT_TRUE(row.bytes(7).empty());
      return tried.fill(row);
    });
    ASSERT_THAT(added, Fails().saying(tried.why));
    EXPECT_EQ(decoder_.held_bytes(), held);
    decoder_.copy_row(0, 2);
    const ColumnLayout& layout = finish();
    EXPECT_THAT(column(layout, 0).as<std::int32_t>(), ElementsAre(2, -2, 0, 0, 2, -2));
    EXPECT_THAT(column(layout, 2).offsets, ElementsAre(0, 2, 2, 4));
  }
}

TEST_F(RowWriterTest, KeepsWhatWasSetWhenItsMemoryGoes) {
  {
    std::string name(100, 'x');
    ASSERT_TRUE(decoder_.add(0, [&](RowWriter& row) -> Result<void> {
      DOVETAIL_TRY(fill(row, 1));
      return row.set(3, as_bytes(name));
    }));
    name.assign(100, 'y');
  }
  decoder_.keep();
  decoder_.add_empty(1);
  decoder_.add_empty(2);
  EXPECT_EQ(column(finish(), 3).text(0), std::string(100, 'x'));
}

TEST(CodecTest, HasWords) {
  EXPECT_EQ(to_string(Codec::none), "none");
  EXPECT_EQ(to_string(Codec::snappy), "snappy");
  EXPECT_EQ(to_string(Codec::zstd), "zstd");
}

}  // namespace
}  // namespace dovetail::test
