// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <dovetail/columns.h>
#include <dovetail/schema.h>

namespace dovetail::format {

/// Texts have offsets of their own, one more than there are texts.
constexpr bool is_text(const Column& column) noexcept {
  return column.dtype == Dtype::bytes;
}
/// Whether the values of a row have no fixed size.
constexpr bool is_variable(const Column& column) noexcept {
  return column.ragged || is_text(column);
}

/// Bytes of a row, or of each item of a ragged one; of texts 1.
inline std::size_t item_bytes(const Column& column) noexcept {
  return static_cast<std::size_t>(column.values() * dtype_bytes(column.dtype));
}

/// How many of its values the rows of one variable column have together.
struct ColumnTotals {
  std::uint64_t items = 0;       ///< Of a ragged column: first dimensions, added up.
  std::uint64_t text_bytes = 0;  ///< Of a column of texts.
};

/// Each part of a slab begins at a multiple of this.
inline constexpr std::size_t kColumnAlignment = 256;

/// As large as a size is said to be; what would be larger is this.
inline constexpr std::uint64_t kMostColumnBytes = std::uint64_t{1} << 60;

/// What `lay_out_fixed` takes.
std::uint64_t fixed_column_bytes(const Schema& schema, std::uint32_t rows) noexcept;
/// Lays out what has a fixed size. Needs: that is less than the most.
void lay_out_fixed(const Schema& schema, std::uint32_t rows, ColumnLayout& layout);
/// Lays out the rest behind it. Needs: totals of each column, in order.
void lay_out_rest(const Schema& schema, const ColumnTotals* totals, ColumnLayout& layout);

/// What `rows` rows take at most behind the fixed part, of records of at most `record_bytes` bytes.
std::uint64_t most_rest_bytes(const Schema& schema, std::uint32_t rows, std::uint64_t record_bytes) noexcept;

}  // namespace dovetail::format
