// SPDX-License-Identifier: Apache-2.0
#include "format/example/column_layout.h"

#include <algorithm>

namespace dovetail {
namespace format {
namespace {

constexpr std::size_t kOffsetBytes = sizeof(std::int64_t);

/// Places the part behind the parts that the layout already has.
void place(ColumnPlace::Part& part, std::uint64_t bytes, ColumnLayout& layout) noexcept {
  part.at = layout.bytes;
  part.bytes = static_cast<std::size_t>(bytes);
  layout.bytes += (part.bytes + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment;
}

}  // namespace

std::uint64_t fixed_column_bytes(const Schema& schema, std::uint32_t rows) noexcept {
  const std::uint64_t offsets_bytes = (std::uint64_t{rows} + 1) * kOffsetBytes;
  std::uint64_t sum = 0;
  for (const Column& column : schema.columns) {
    // The product fits: there are less than 2^32 rows of less than 2^31 bytes.
    const std::uint64_t bytes = is_variable(column) ? offsets_bytes : std::uint64_t{rows} * item_bytes(column);
    sum = std::min(sum + (bytes + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment, kMostColumnBytes);
  }
  return sum;
}

void lay_out_fixed(const Schema& schema, std::uint32_t rows, ColumnLayout& layout) {
  layout.rows = rows;
  layout.bytes = 0;
  layout.columns.assign(schema.columns.size(), ColumnPlace{});
  const std::uint64_t offsets_bytes = (std::uint64_t{rows} + 1) * kOffsetBytes;
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    const Column& column = schema.columns[i];
    if (column.ragged) {
      place(layout.columns[i].offsets, offsets_bytes, layout);
    } else if (is_text(column)) {
      place(layout.columns[i].text_offsets, offsets_bytes, layout);
    } else {
      place(layout.columns[i].values, std::uint64_t{rows} * item_bytes(column), layout);
    }
  }
}

void lay_out_rest(const Schema& schema, const ColumnTotals* totals, ColumnLayout& layout) {
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    const Column& column = schema.columns[i];
    if (!is_variable(column)) continue;
    if (column.ragged && is_text(column)) {
      place(layout.columns[i].text_offsets, (totals[i].items + 1) * kOffsetBytes, layout);
    }
    place(layout.columns[i].values, is_text(column) ? totals[i].text_bytes : totals[i].items * item_bytes(column),
          layout);
  }
}

std::uint64_t most_rest_bytes(const Schema& schema, std::uint32_t rows, std::uint64_t record_bytes) noexcept {
  // The features of a record share its bytes. So the column that grows most sets the bound: a
  // varint of one byte becomes a number of its dtype, and an empty text, two bytes on the wire,
  // becomes an offset.
  std::uint64_t growth = 0;
  std::uint64_t more = 0;
  for (const Column& column : schema.columns) {
    if (!is_variable(column)) continue;
    const bool floating = column.dtype == Dtype::f32 || column.dtype == Dtype::f16;
    const std::uint64_t text = column.ragged ? kOffsetBytes / 2 + 1 : 1;
    growth = std::max<std::uint64_t>(growth, is_text(column)              ? text
                                             : column.dtype == Dtype::f64 ? 2
                                             : floating                   ? 1
                                                                          : dtype_bytes(column.dtype));
    more += 2 * kColumnAlignment + kOffsetBytes;
    if (column.fallback && is_text(column)) more += std::uint64_t{rows} * column.fallback->size();
  }
  // Records are below 4 GiB and fallbacks are short, so only the product of rows and record bytes
  // can overflow.
  return std::min(std::min<std::uint64_t>(std::uint64_t{rows} * record_bytes, kMostColumnBytes / 8) * growth + more,
                  kMostColumnBytes);
}

}  // namespace format

ColumnView view_column(const Schema& schema, const ColumnLayout& layout, ByteView slab, std::size_t i) noexcept {
  const ColumnPlace& place = layout.columns[i];
  const auto offsets = [slab](const ColumnPlace::Part& part) {
    return std::span(reinterpret_cast<const std::int64_t*>(slab.data() + part.at), part.bytes / sizeof(std::int64_t));
  };
  ColumnView view;
  view.column = &schema.columns[i];
  view.values = slab.subspan(place.values.at, place.values.bytes);
  view.offsets = offsets(place.offsets);
  view.text_offsets = offsets(place.text_offsets);
  return view;
}

}  // namespace dovetail
