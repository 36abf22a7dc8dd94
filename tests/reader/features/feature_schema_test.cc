// SPDX-License-Identifier: Apache-2.0
// The columns of a report, and that they read the records that they were made from.
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dovetail/columns.h>
#include <dovetail/features.h>

#include "tests/reader/features/feature_records.h"

namespace dovetail::test {
namespace {

using ::testing::ElementsAre;

/// Whether a decoder of the schema takes all records.
Result<void> decode(const Schema& schema, const std::vector<std::string>& records) {
  ColumnDecoder decoder = ColumnDecoder::make(schema).value();
  std::vector<ByteView> views;
  std::size_t longest = 0;
  for (const std::string& record : records) {
    views.push_back(as_bytes(record));
    longest = std::max(longest, record.size());
  }
  const auto rows = static_cast<std::uint32_t>(records.size());
  std::vector<std::uint64_t> memory(decoder.most_bytes(rows, longest) / 8 + 1);
  if (auto layout = decoder.decode(views, std::as_writable_bytes(std::span(memory))); !layout) return layout.error();
  return {};
}

TEST(FeatureSchemaTest, HasTheFormThatTheListsHave) {
  const ExampleRecord none;
  const struct {
    std::vector<ExampleRecord> records;
    std::string schema;
  } kCases[] = {
      {{none.ints("x", {1}), none.ints("x", {2})}, "x:i64"},
      {{none.ints("x", {1, 2}), none.ints("x", {3, 4})}, "x:i64[2]"},
      {{none.ints("x", {1, 2}), none.ints("x", {3})}, "x:i64[*]"},
      {{none.ints("x", {1, 2}), none.ints("x", {3}), none.ints("x", {})}, "x:i64[*]"},
      {{none.ints("x", {1, 2}), none.ints("x", {3}), none.ints("y", {1})}, "x:i64[*]=[], y:i64=-1"},
      {{none.ints("x", {1}), none.ints("x", {})}, "x:i64=-1"},
      {{none.ints("x", {-1}), none.none("x")}, "x:i64=0"},
      {{none.floats("x", {1, 2}), none.ints("y", {1, 2, 3})}, "x:f32[2]=nan, y:i64[3]=-1"},
      {{none.ints("x", {1}), none.floats("x", {0.5})}, "x:f32"},
      {{none.floats("x", {0.5, 1}), none.ints("x", {-16777216, 16777216})}, "x:f32[2]"},
      {{none.ints("x", {16777217}), none.floats("x", {0.5})}, "x:f64"},
      {{none.ints("x", {-16777217}), none.floats("x", {0.5}), none.ints("y", {1})}, "x:f64=nan, y:i64=-1"},
      {{none.ints("x", {std::int64_t{1} << 53}), none.floats("x", {0.5}), none.ints("x", {})}, "x:f64=nan"},
      {{none.ints("x", {}), none.floats("x", {0.5})}, "x:f32=nan"},
      {{none.ints("x", {1}), none.floats("x", {})}, "x:f32=nan"},
      {{none.texts("x", {"a"}), none.texts("x", {"b"})}, "x:bytes"},
      {{none.texts("x", {"a"}), none.ints("y", {1})}, R"(x:bytes="", y:i64=-1)"},
      {{none.texts("x", {"a", "b"}), none.texts("x", {"c", "d"})}, "x:bytes[*]"},
      {{none.texts("odd name, \"1\"", {"a"})}, R"("odd name, \"1\"":bytes)"},
  };
  for (const auto& each : kCases) {
    std::vector<std::string> records;
    for (const ExampleRecord& record : each.records) records.push_back(record.bytes());
    const FeaturesReport report = report_of(records);
    EXPECT_EQ(to_text(report.schema), each.schema);
    EXPECT_TRUE(report.without_column.empty()) << each.schema;
    const auto decoded = decode(parse_schema(to_text(report.schema)).value(), records);
    EXPECT_TRUE(decoded.has_value()) << each.schema << ": " << decoded.error().to_string();
  }
}

TEST(FeatureSchemaTest, FeaturesOfChangingKindAreNoColumns) {
  const std::int64_t beyond = (std::int64_t{1} << 53) + 1;
  const FeaturesReport report = report_of({ExampleRecord()
                                               .ints("x", {1})
                                               .none("gone")
                                               .ints("empty", {})
                                               .ints("y", {1})
                                               .ints("most", {beyond})
                                               .ints("least", {-beyond})
                                               .ints("ragged", {1, 2})
                                               .bytes(),
                                           ExampleRecord()
                                               .texts("x", {"1"})
                                               .ints("y", {2})
                                               .floats("most", {1})
                                               .floats("least", {1})
                                               .floats("ragged", {0.5})
                                               .bytes()});
  EXPECT_EQ(to_text(report.schema), "y:i64");
  EXPECT_THAT(report.without_column, ElementsAre("empty", "gone", "least", "most", "ragged", "x"));
}

TEST(FeatureSchemaTest, ReadsRandomRecords) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<std::string> records = random_records(seed, 300);
    std::erase(records, "no Example");
    const FeaturesReport report = report_of(records);
    EXPECT_THAT(report.without_column, ElementsAre());
    const auto decoded = decode(report.schema, records);
    EXPECT_TRUE(decoded.has_value()) << "seed " << seed << ": " << decoded.error().to_string();
  }
}

}  // namespace
}  // namespace dovetail::test
