// SPDX-License-Identifier: Apache-2.0
// Gives each input, a schema and a record, to our decoder and to protobuf's classes; they have to
// agree. So do the features of the record, and what a schema says of itself; and statistics of it
// propose columns that read it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/columns.h>
#include <dovetail/features.h>

#include "format/example/example_wire.h"
#include "tests/format/column_reference.h"
#include "tests/format/example_messages.h"

namespace dovetail::test {

using namespace format;

namespace {

constexpr const char* kSchema =
    "a:u8[4], b:i64, c:i32[*], d:f32=1, e:bytes=\"none\", f:bytes[*]=[], g:f64[*,2]=[], h:u16[2]=3, i:f16=0";
// Rows of other schemas may be too large to be worth a test.
constexpr std::uint64_t kMostRowBytes = 4096;

void require(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

std::uint64_t row_bytes(const Schema& schema) {
  std::uint64_t most = 0;
  for (const Column& column : schema.columns) {
    most = std::max<std::uint64_t>(most, column.values() * dtype_bytes(column.dtype));
  }
  return most;
}

void decode(ColumnDecoder& decoder, const std::string& record) {
  // Twice: the second time the names are expected.
  const std::vector<std::byte> exact(as_bytes(record).begin(), as_bytes(record).end());
  const ByteView there = exact.empty() ? as_bytes("") : ByteView(exact);
  const std::vector<ByteView> records = {there, ByteView(), there};
  std::vector<std::uint64_t> memory(decoder.most_bytes(3, record.size()) / 8 + 1);
  const auto slab = std::as_writable_bytes(std::span(memory));
  const auto decoded = decoder.decode(records, slab);
  const auto expected = reference_columns(decoder.schema(), {record, std::nullopt, record});
  require(decoded.has_value() == expected.has_value(),
          decoded ? "only protobuf refuses it" : decoded.error().to_string());
  if (decoded) {
    require(decoded_columns(decoder.schema(), **decoded, slab) == *expected, "other values");
  } else {
    require(decoded.error().is(Errc::bad_message) || decoded.error().is(Errc::invalid_option),
            decoded.error().to_string());
  }
}

/// Statistics of the record: the columns that they propose read it.
void describe(const std::string& record) {
  const std::vector<std::byte> exact(as_bytes(record).begin(), as_bytes(record).end());
  FeatureCollector collector;
  FeatureCollector other;
  // Twice: the second time the names are expected.
  for (const std::uint64_t id : {0U, 1U}) collector.add(id, exact);
  other.add(2, exact);
  collector.merge(other);
  const FeaturesReport report = collector.report();
  ExampleFeatures features;
  const bool example = features.parse(exact) && !features.all().empty();
  require(report.records == 3 && report.examples == (example ? 3 : 0), "other records are Examples");
  if (report.schema.columns.empty() || row_bytes(report.schema) > kMostRowBytes) return;
  ColumnDecoder decoder = ColumnDecoder::make(parse_schema(to_text(report.schema)).value()).value();
  std::vector<std::uint64_t> memory(decoder.most_bytes(1, record.size()) / 8 + 1);
  const ByteView there(exact);
  const auto decoded = decoder.decode(std::span(&there, 1), std::as_writable_bytes(std::span(memory)));
  require(decoded.has_value(), decoded ? "" : decoded.error().to_string());
}

/// Up to a zero byte a schema, if there is one, and behind it a record.
void judge(std::string_view input) {
  static ColumnDecoder usual = ColumnDecoder::make(parse_schema(kSchema).value()).value();
  const std::size_t end = input.find('\0');
  if (end == std::string_view::npos) return;
  const std::string record(input.substr(end + 1));
  const std::string difference = example_difference(as_bytes(record));
  require(difference.empty(), difference);
  describe(record);
  if (end == 0) return decode(usual, record);
  const auto schema = parse_schema(input.substr(0, end));
  if (!schema) return;
  require(parse_schema(to_text(*schema)).value() == *schema, "the schema does not come back");
  if (row_bytes(*schema) > kMostRowBytes) return;
  ColumnDecoder decoder = ColumnDecoder::make(*schema).value();
  decode(decoder, record);
}

}  // namespace
}  // namespace dovetail::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::test::judge({reinterpret_cast<const char*>(data), size});
  return 0;
}
