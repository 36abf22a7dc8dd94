// SPDX-License-Identifier: Apache-2.0
#include <dovetail/schema.h>

#include <algorithm>
#include <set>
#include <string>

#include "format/example/schema_fallback.h"
#include "format/text/utf8.h"
#include "format/try.h"

namespace dovetail {
namespace {

Error bad_column(const std::string& name, const std::string& reason) {
  return Error(Errc::invalid_option, "column \"" + name + "\": " + reason);
}

Result<void> validate(const Column& column) {
  if (column.name.size() > kMaxColumnNameBytes) {
    return Error(Errc::invalid_option, "the name of a column has " + std::to_string(column.name.size()) +
                                           " bytes, the limit is " + std::to_string(kMaxColumnNameBytes));
  }
  if (!format::is_utf8(column.name)) return Error(Errc::invalid_option, "the name of a column is not UTF-8");
  if (column.dtype > Dtype::bytes) return bad_column(column.name, "an unknown dtype");
  if (column.shape.size() > kMaxColumnDimensions) {
    return bad_column(column.name, "more than " + std::to_string(kMaxColumnDimensions) + " dimensions");
  }
  if (column.dtype == Dtype::bytes && !column.shape.empty()) {
    return bad_column(column.name, "bytes must be one text per row, or bytes[*] for several");
  }
  std::uint64_t bytes = dtype_bytes(column.dtype);
  for (const std::uint32_t size : column.shape) {
    if (size == 0) return bad_column(column.name, "a dimension of 0");
    bytes *= size;  // both factors are below 2^32
    if (bytes > kMaxColumnRowBytes) {
      return bad_column(column.name, "more than " + std::to_string(kMaxColumnRowBytes) + " bytes per row");
    }
  }
  if (!column.fallback) return {};
  if (const auto normal = format::normal_fallback(column, *column.fallback); !normal) {
    return bad_column(column.name, normal.error().detail());
  }
  return {};
}

}  // namespace

std::string_view to_text(Dtype dtype) noexcept {
  constexpr std::string_view kTexts[] = {"u8",  "i8",  "u16", "i16", "u32", "i32",
                                         "u64", "i64", "f16", "f32", "f64", "bytes"};
  return kTexts[static_cast<std::size_t>(dtype)];
}

void check_type(const Column& column, std::size_t bytes, bool is_float) {
  const bool floats = column.dtype == Dtype::f32 || column.dtype == Dtype::f64;
  if (bytes == dtype_bytes(column.dtype) && (is_float == floats || column.dtype == Dtype::f16)) return;
  throw Exception(Error(Errc::invalid_option, "column \"" + column.name + "\": its values are " +
                                                  std::string(to_text(column.dtype)) + ", not " +
                                                  (is_float ? "floats" : "integers") + " of " + std::to_string(bytes) +
                                                  (bytes == 1 ? " byte" : " bytes")));
}

std::optional<std::size_t> Schema::find(std::string_view name) const noexcept {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [name](const Column& column) { return column.name == name; });
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

Result<Schema> Schema::pick(const std::vector<std::string>& names) const {
  constexpr std::size_t kMostShown = 500;  // of a schema, in a message
  Schema picked;
  for (const std::string& name : names) {
    const std::optional<std::size_t> place = find(name);
    if (!place) {
      return Error(Errc::invalid_option, "the schema has no column \"" + name +
                                             "\"; it has: " + format::shortened(to_text(*this), kMostShown));
    }
    picked.columns.push_back(columns[*place]);
  }
  return picked;
}

Result<void> validate(const Schema& schema) {
  if (schema.columns.empty()) return Error(Errc::invalid_option, "a schema without columns");
  if (schema.columns.size() > kMaxColumns) {
    return Error(Errc::invalid_option, "a schema of " + std::to_string(schema.columns.size()) +
                                           " columns, the limit is " + std::to_string(kMaxColumns));
  }
  std::set<std::string_view> names;
  for (const Column& column : schema.columns) {
    DOVETAIL_TRY(validate(column));
    if (!names.insert(column.name).second) return bad_column(column.name, "occurs twice");
  }
  return {};
}

}  // namespace dovetail
