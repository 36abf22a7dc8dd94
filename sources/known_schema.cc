// SPDX-License-Identifier: Apache-2.0
#include "sources/known_schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace dovetail::detail {

namespace {

// NumPy's names of dtypes.
std::optional<Dtype> dtype_named(std::string_view name) {
  using Named = std::pair<std::string_view, Dtype>;
  constexpr std::array kNames = {
      Named{"uint8", Dtype::u8},    Named{"int8", Dtype::i8},    Named{"uint16", Dtype::u16},
      Named{"int16", Dtype::i16},   Named{"uint32", Dtype::u32}, Named{"int32", Dtype::i32},
      Named{"uint64", Dtype::u64},  Named{"int64", Dtype::i64},  Named{"float16", Dtype::f16},
      Named{"float32", Dtype::f32}, Named{"float64", Dtype::f64}};
  const auto* found =
      std::find_if(kNames.begin(), kNames.end(), [&](const Named& known) { return known.first == name; });
  if (found == kNames.end()) return std::nullopt;
  return found->second;
}

// `ndarray:TYPE:SIZE,SIZE`. Its values are only the elements. Without type and shape in the
// encoding, each value stores both before its elements.
std::optional<Column> array_column(const MdsColumn& column) {
  constexpr std::string_view kArray = "ndarray:";
  std::string_view text = column.encoding;
  if (!text.starts_with(kArray)) return std::nullopt;
  text.remove_prefix(kArray.size());
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto dtype = dtype_named(text.substr(0, colon));
  if (!dtype) return std::nullopt;
  Column made{.name = column.name, .dtype = *dtype};
  for (const char *at = text.data() + colon + 1, *const end = text.data() + text.size(); at != end;) {
    std::uint32_t size = 0;
    const auto [next, failed] = std::from_chars(at, end, size);
    if (failed != std::errc() || (next != end && *next != ',') || (next != end && next + 1 == end)) return std::nullopt;
    made.shape.push_back(size);
    at = next == end ? end : next + 1;
  }
  return made.shape.empty() ? std::nullopt : std::optional(std::move(made));
}

Column column_of(const MdsColumn& column) {
  switch (column.kind) {
    case MdsKind::int_le:
      return {.name = column.name, .dtype = Dtype::i64};
    case MdsKind::uint_le:
      return {.name = column.name, .dtype = column.size == 8u ? Dtype::u64 : Dtype::i64};
    case MdsKind::float_le:
      return {.name = column.name, .dtype = Dtype::f32};
    case MdsKind::bytes:
      break;
  }
  return array_column(column).value_or(Column{.name = column.name, .dtype = Dtype::bytes});
}

}  // namespace

Column column_of(const IdxLayout& layout) {
  if (layout.sizes.size() == 1) {
    const bool real = layout.dtype == Dtype::f32 || layout.dtype == Dtype::f64;
    return {.name = "label", .dtype = real ? Dtype::f32 : Dtype::i64};
  }
  return {.name = "image", .dtype = layout.dtype, .shape = {layout.sizes.begin() + 1, layout.sizes.end()}};
}

std::optional<Schema> schema_of(const MdsIndex& index) {
  if (index.shards.empty()) return std::nullopt;
  const std::vector<MdsColumn>& columns = index.shards.front().columns;
  for (const MdsShard& shard : index.shards) {
    if (shard.columns != columns) return std::nullopt;
  }
  Schema schema;
  for (const MdsColumn& column : columns) schema.columns.push_back(column_of(column));
  if (!validate(schema)) return std::nullopt;
  return schema;
}

std::optional<Schema> schema_of(const std::vector<CsvColumn>& columns) {
  Schema schema;
  for (const CsvColumn& column : columns) {
    const bool real = column.type == ColumnType::real;
    const Dtype number = real ? Dtype::f32 : Dtype::i64;
    schema.columns.push_back({.name = column.name, .dtype = column.type == ColumnType::bytes ? Dtype::bytes : number});
    if (real) schema.columns.back().fallback = "nan";
    if (column.type == ColumnType::int64 && column.missing) {
      schema.columns.back().fallback = column.negative ? "0" : "-1";  // as in inferred schemas
    }
  }
  if (!validate(schema)) return std::nullopt;
  return schema;
}

Schema schema_of_files(bool labels) {
  Schema schema;
  schema.columns.push_back({.name = "__key__", .dtype = Dtype::bytes});
  if (labels) {
    schema.columns.push_back({.name = "class", .dtype = Dtype::bytes});
    schema.columns.push_back({.name = "label", .dtype = Dtype::i64});
  }
  schema.columns.push_back({.name = "data", .dtype = Dtype::bytes});
  return schema;
}

}  // namespace dovetail::detail
