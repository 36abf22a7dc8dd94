// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/export.h>

namespace dovetail {

/// Type of the values of a column.
enum class Dtype : std::uint8_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  u64,
  i64,
  f16,    ///< IEEE 754, 2 bytes.
  f32,    ///< 4 bytes.
  f64,    ///< 8 bytes.
  bytes,  ///< Texts, each of its own length.
};

/// Bytes of one value; for `bytes`, of one character.
constexpr std::size_t dtype_bytes(Dtype dtype) noexcept {
  constexpr std::size_t kBytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 1};
  return kBytes[static_cast<std::size_t>(dtype)];
}

/// Name in the text of a schema: "u8", "f32", "bytes".
DOVETAIL_EXPORT std::string_view to_text(Dtype dtype) noexcept;

/// One column: a feature of the records, in the same form for every row.
struct DOVETAIL_EXPORT Column {
  /// Name of the feature, in UTF-8.
  std::string name;
  Dtype dtype = Dtype::u8;
  /// Shape of one row, slowest dimension first; empty for a single value. For a ragged column,
  /// without its first dimension.
  std::vector<std::uint32_t> shape = {};
  /// Whether each row has a first dimension of its own.
  bool ragged = false;
  /// Value of rows whose record lacks the feature, or has it as a list without values. Without a
  /// fallback that is an error. A decimal number for all values; a text for `bytes`; only "" for a
  /// ragged column, whose row is then empty.
  std::optional<std::string> fallback = {};

  /// Values in a row, or in each item of a ragged column.
  std::uint64_t values() const noexcept {
    std::uint64_t product = 1;
    for (const std::uint32_t size : shape) product *= size;
    return product;
  }

  friend bool operator==(const Column&, const Column&) = default;
};

/// Throws `Exception` with `invalid_option` unless the values of a column have this size and are, or
/// are not, floats. The values of f16 may be any type of 2 bytes.
DOVETAIL_EXPORT void check_type(const Column& column, std::size_t bytes, bool is_float);

/// The columns that the features of a record become. docs/columns.md shows the text form and the
/// rules.
struct DOVETAIL_EXPORT Schema {
  /// In their order in a slab.
  std::vector<Column> columns;

  /// Index of a column, or nothing.
  std::optional<std::size_t> find(std::string_view name) const noexcept;
  /// The columns of these names, in this order. Errors: `invalid_option` for an unknown name.
  Result<Schema> pick(const std::vector<std::string>& names) const;

  friend bool operator==(const Schema&, const Schema&) = default;
};

// Limits of a schema.
inline constexpr std::size_t kMaxColumns = 4096;
inline constexpr std::size_t kMaxColumnNameBytes = 1024;
inline constexpr std::size_t kMaxColumnDimensions = 16;
inline constexpr std::size_t kMaxFallbackBytes = 64 * 1024;
/// Bytes of a row, or of an item of a ragged column: below 2 GiB.
inline constexpr std::uint64_t kMaxColumnRowBytes = 0x7FFFFFFF;
inline constexpr std::size_t kMaxSchemaTextBytes = 1024 * 1024;

/// Checks the same rules as `parse_schema`. Errors: `invalid_option`, naming the column.
DOVETAIL_EXPORT Result<void> validate(const Schema& schema);

/// Returns one line such as `image:u8[28,28,1], label:i64, tokens:i32[*], weight:f32=1, "odd
/// name":bytes="none"`. Needs: a valid schema. `parse_schema` then returns an equal one, except for
/// the form of numbers.
DOVETAIL_EXPORT std::string to_text(const Schema& schema);

/// Parses the text form. Numbers in fallbacks are brought to their shortest form. Errors:
/// `invalid_option`, naming the place.
DOVETAIL_EXPORT Result<Schema> parse_schema(std::string_view text);

}  // namespace dovetail
