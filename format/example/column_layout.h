// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <dovetail/columns.h>
#include <dovetail/schema.h>

namespace dovetail::format {

/// Returns whether the values are texts. Their offsets are one more than the texts.
constexpr bool is_text(const Column& column) noexcept {
  return column.dtype == Dtype::bytes;
}
/// Returns whether rows differ in size.
constexpr bool is_variable(const Column& column) noexcept {
  return column.ragged || is_text(column);
}

/// Returns the bytes of a row, or of each item of a ragged row; 1 for texts.
inline std::size_t item_bytes(const Column& column) noexcept {
  return static_cast<std::size_t>(column.values() * dtype_bytes(column.dtype));
}

/// The sizes of all rows of one variable column together.
struct ColumnTotals {
  std::uint64_t items = 0;       ///< Of a ragged column: the sum of the first dimensions.
  std::uint64_t text_bytes = 0;  ///< Of a column of texts.
};

/// The alignment of each part of a slab, in bytes.
inline constexpr std::size_t kColumnAlignment = 256;

/// The largest size that the functions below return. They return this for all larger sizes.
inline constexpr std::uint64_t kMostColumnBytes = std::uint64_t{1} << 60;

/// Returns the bytes that `lay_out_fixed` uses.
std::uint64_t fixed_column_bytes(const Schema& schema, std::uint32_t rows) noexcept;
/// Lays out the parts of fixed size. Needs: `fixed_column_bytes` is below `kMostColumnBytes`.
void lay_out_fixed(const Schema& schema, std::uint32_t rows, ColumnLayout& layout);
/// Lays out the other parts behind them. Needs: the totals of each column, in order.
void lay_out_rest(const Schema& schema, const ColumnTotals* totals, ColumnLayout& layout);

/// Returns an upper bound of the bytes behind the fixed part, for `rows` rows of records of at most
/// `record_bytes` bytes.
std::uint64_t most_rest_bytes(const Schema& schema, std::uint32_t rows, std::uint64_t record_bytes) noexcept;

}  // namespace dovetail::format
