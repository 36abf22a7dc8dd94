// SPDX-License-Identifier: Apache-2.0
#include "format/example/column_rows.h"

#include <cstring>

#include "format/example/column_values.h"
#include "format/example/packed_ints.h"
#include "format/example/schema_fallback.h"

namespace dovetail::format {
namespace {

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

}  // namespace

ColumnRows::ColumnRows(const Schema& schema) : schema_(schema), totals_(schema.columns.size()) {
  for (const Column& column : schema.columns) {
    Target& target = targets_.emplace_back();
    target.dtype = column.dtype;
    target.variable = is_variable(column);
    target.text = is_text(column);
    target.ragged = column.ragged;
    target.count = column.values();
    target.single = !target.variable && target.count == 1;
    target.item_bytes = item_bytes(column);
    if (target.variable) target.variable_number = variable_++;
    if (!target.variable && column.fallback) target.fallback = fallback_value(column);
  }
}

void ColumnRows::begin(std::uint32_t rows, std::span<std::byte> slab) {
  rows_ = rows;
  bytes_.clear();
  text_bytes_.clear();
  fixed_bytes_ = fixed_column_bytes(schema_, rows);
  if (slab.size() < fixed_bytes_) return;  // the caller only asks for the size and does not go on
  places_.assign(variable_ * rows, Place{});
  lay_out_fixed(schema_, rows, layout_);
  for (std::size_t i = 0; i < targets_.size(); ++i) targets_[i].values = slab.data() + layout_.columns[i].values.at;
}

bool ColumnRows::write_single_int(const Target& target, std::uint32_t row, ByteView packed) noexcept {
  std::uint64_t value = 0;
  WireFault fault;
  WireCursor cursor(packed);
  if (cursor.done() || !cursor.read_varint(value, fault) || !cursor.done()) return false;
  std::byte* const to = row_of(target, row);
  if (target.dtype == Dtype::i64) {
    std::memcpy(to, &value, sizeof(value));
    return true;
  }
  if (target.dtype == Dtype::i32) {
    const auto wide = static_cast<std::int64_t>(value);
    const auto narrow = static_cast<std::int32_t>(wide);
    std::memcpy(to, &narrow, sizeof(narrow));
    return narrow == wide;
  }
  return unpack_ints(packed, target.dtype, to, 1);
}

bool ColumnRows::put_packed_ints(std::size_t column, std::uint32_t row, ByteView packed) {
  const Target& target = targets_[column];
  if (!is_integer(target.dtype)) return false;
  if (target.single) return write_single_int(target, row, packed);
  if (!target.variable) return unpack_ints(packed, target.dtype, row_of(target, row), target.count);
  const std::size_t at = bytes_.size();
  const auto count = unpack_all_ints(packed, target.dtype, bytes_.add(packed.size() * dtype_bytes(target.dtype)));
  const bool fits = count && *count % target.count == 0;
  const std::size_t bytes = fits ? static_cast<std::size_t>(*count) * dtype_bytes(target.dtype) : 0;
  bytes_.shrink(at + bytes);
  if (fits) place_of(target, row) = {.at = at, .bytes = bytes};
  return fits;
}

bool ColumnRows::put_packed_floats(std::size_t column, std::uint32_t row, ByteView packed) {
  const Target& target = targets_[column];
  const std::size_t count = packed.size() / sizeof(float);
  if (!is_floating(target.dtype) || packed.size() % sizeof(float) != 0) return false;
  if (!target.variable) {
    if (count != target.count) return false;
    unpack_floats(packed, target.dtype, row_of(target, row));
    return true;
  }
  if (count % target.count != 0) return false;
  if (target.dtype == Dtype::f32) {
    place_of(target, row) = {.outside = packed.data(), .bytes = packed.size()};
    return true;
  }
  const std::size_t at = bytes_.size();
  const std::size_t bytes = count * dtype_bytes(target.dtype);
  unpack_floats(packed, target.dtype, bytes_.add(bytes));
  place_of(target, row) = {.at = at, .bytes = bytes};
  return true;
}

bool ColumnRows::put_bytes(std::size_t column, std::uint32_t row, ByteView value) {
  const Target& target = targets_[column];
  if (!target.variable) {
    if (value.size() != target.item_bytes) return false;
    copy_bytes(row_of(target, row), value.data(), value.size());
    return true;
  }
  Place place{.outside = value.data(), .bytes = value.size()};
  if (target.text && target.ragged) {
    place.first_text = text_bytes_.size();
    place.texts = 1;
    *text_bytes_.add(1) = value.size();
  } else if (!target.text && value.size() % target.item_bytes != 0) {
    return false;
  }
  place_of(target, row) = place;
  return true;
}

bool ColumnRows::put_texts(const Target& target, std::uint32_t row, const FeatureView& feature) {
  Place place{.at = bytes_.size(), .first_text = text_bytes_.size()};
  FeatureValues values(feature);
  for (ByteView value; values.next(value); ++place.texts) {
    copy_bytes(bytes_.add(value.size()), value.data(), value.size());
    *text_bytes_.add(1) = value.size();
    place.bytes += value.size();
  }
  place_of(target, row) = place;
  return true;
}

std::span<std::byte> ColumnRows::fixed_row(std::size_t column, std::uint32_t row) const noexcept {
  const Target& target = targets_[column];
  if (target.variable) return {};
  return {row_of(target, row), target.item_bytes};
}

bool ColumnRows::put_copy(std::size_t column, std::uint32_t row, ByteView value) {
  const Target& target = targets_[column];
  if (!target.variable || (!target.text && value.size() % target.item_bytes != 0)) {
    return put_bytes(column, row, value);
  }
  const std::size_t at = bytes_.size();
  copy_bytes(bytes_.add(value.size()), value.data(), value.size());
  place_of(target, row) = {.at = at, .bytes = value.size()};
  return true;
}

void ColumnRows::put_copies(std::size_t column, std::uint32_t row, std::span<const std::string_view> texts) {
  Place place{.at = bytes_.size(), .first_text = text_bytes_.size(), .texts = texts.size()};
  for (const std::string_view text : texts) {
    copy_bytes(bytes_.add(text.size()), as_bytes(text).data(), text.size());
    *text_bytes_.add(1) = text.size();
    place.bytes += text.size();
  }
  place_of(targets_[column], row) = place;
}

bool ColumnRows::put(std::size_t column, std::uint32_t row, const FeatureView& feature, std::string* why) {
  const Target& target = targets_[column];
  const auto wrong = [why](const std::string& text) {
    if (why != nullptr) *why = text;
    return false;
  };
  if (feature.kind == FeatureKind::none) return put_fallback(column, row) || wrong(std::string(kEmptyFeature));
  std::uint64_t count = 0;
  if (!count_values(schema_.columns[column], feature, count, why)) return false;
  // Writers express a missing value as an empty list, for example table writers for an empty
  // number.
  if (feature.count == 0 && put_fallback(column, row)) return true;
  if (feature.count == 0 && !target.ragged) return wrong(std::string(kEmptyFeature));
  if (target.text && (target.ragged || count == 1)) return put_texts(target, row, feature);
  if (target.ragged ? count % target.count != 0 : count != target.count) {
    return wrong(std::to_string(count) + " values, expected " + (target.ragged ? "a multiple of " : "") +
                 std::to_string(target.count));
  }
  // Each value takes at least a byte in the record, so this is at most a small multiple of its
  // size.
  const std::size_t at = bytes_.size();
  const std::size_t bytes = static_cast<std::size_t>(count) * dtype_bytes(target.dtype);
  std::byte* const to = target.variable ? bytes_.add(bytes) : row_of(target, row);
  if (!write_values(schema_.columns[column], feature, to)) {
    bytes_.shrink(at);
    return wrong("a number that does not fit " + std::string(to_text(target.dtype)));
  }
  if (target.variable) place_of(target, row) = {.at = at, .bytes = bytes};
  return true;
}

bool ColumnRows::put_fallback(std::size_t column, std::uint32_t row) {
  const std::optional<std::string>& fallback = schema_.columns[column].fallback;
  if (!fallback) return false;
  const Target& target = targets_[column];
  if (target.variable) {
    const ByteView text = as_bytes(*fallback);  // `fallback` is empty for a ragged column
    place_of(target, row) = {.outside = text.data(), .bytes = text.size()};
    return true;
  }
  std::byte* to = row_of(target, row);
  const std::size_t bytes = dtype_bytes(target.dtype);
  for (std::uint64_t i = 0; i < target.count; ++i, to += bytes) std::memcpy(to, target.fallback.data(), bytes);
  return true;
}

void ColumnRows::put_nothing(std::uint32_t row) noexcept {
  for (const Target& target : targets_) {
    if (target.variable) {
      place_of(target, row) = Place{};
    } else {
      std::memset(row_of(target, row), 0, target.item_bytes);
    }
  }
}

void ColumnRows::copy_row(std::uint32_t from, std::uint32_t to) noexcept {
  for (const Target& target : targets_) {
    if (target.variable) {
      place_of(target, to) = place_of(target, from);
    } else {
      std::memmove(row_of(target, to), row_of(target, from), target.item_bytes);
    }
  }
}

void ColumnRows::keep() {
  for (Place& place : places_) {
    if (place.outside == nullptr) continue;
    const std::size_t at = bytes_.size();
    copy_bytes(bytes_.add(place.bytes), place.outside, place.bytes);
    place.outside = nullptr;
    place.at = at;
  }
}

void ColumnRows::add_up() {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const Target& target = targets_[i];
    if (!target.variable) continue;
    ColumnTotals totals;
    for (std::uint32_t row = 0; row < rows_; ++row) {
      const Place& place = place_of(target, row);
      totals.text_bytes += place.bytes;
      totals.items += target.text ? place.texts : place.bytes / target.item_bytes;
    }
    totals_[i] = totals;
  }
}

std::uint64_t ColumnRows::bytes() {
  add_up();
  layout_.bytes = static_cast<std::size_t>(fixed_bytes_);
  lay_out_rest(schema_, totals_.data(), layout_);
  return layout_.bytes;
}

void ColumnRows::write_texts(const Target& target, const ColumnPlace& place, std::byte* slab) noexcept {
  auto* const ends = reinterpret_cast<std::int64_t*>(slab + place.text_offsets.at);
  std::size_t text = 0;
  std::int64_t end = 0;
  ends[text++] = end;
  for (std::uint32_t row = 0; row < rows_; ++row) {
    const Place& from = place_of(target, row);
    if (!target.ragged) {
      ends[text++] = end += static_cast<std::int64_t>(from.bytes);
      continue;
    }
    for (std::size_t i = 0; i < from.texts; ++i) {
      ends[text++] = end += static_cast<std::int64_t>(text_bytes_.data()[from.first_text + i]);
    }
  }
}

void ColumnRows::clear_padding(std::byte* slab) const noexcept {
  const auto clear_behind = [slab](const ColumnPlace::Part& part) {
    if (part.bytes % kColumnAlignment != 0)
      std::memset(slab + part.at + part.bytes, 0, kColumnAlignment - part.bytes % kColumnAlignment);
  };
  for (const ColumnPlace& place : layout_.columns) {
    clear_behind(place.values);
    clear_behind(place.offsets);
    clear_behind(place.text_offsets);
  }
}

const ColumnLayout& ColumnRows::finish(std::span<std::byte> slab) {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const Target& target = targets_[i];
    if (!target.variable) continue;
    const ColumnPlace& place = layout_.columns[i];
    if (target.ragged) {
      auto* const ends = reinterpret_cast<std::int64_t*>(slab.data() + place.offsets.at);
      std::uint64_t end = 0;
      ends[0] = 0;
      for (std::uint32_t row = 0; row < rows_; ++row) {
        const Place& from = place_of(target, row);
        end += target.text ? from.texts : from.bytes / target.item_bytes;
        ends[row + 1] = static_cast<std::int64_t>(end);
      }
    }
    if (target.text) write_texts(target, place, slab.data());
    std::byte* to = slab.data() + place.values.at;
    for (std::uint32_t row = 0; row < rows_; ++row) {
      const Place& from = place_of(target, row);
      copy_bytes(to, from.outside != nullptr ? from.outside : bytes_.data() + from.at, from.bytes);
      to += from.bytes;
    }
  }
  clear_padding(slab.data());
  return layout_;
}

}  // namespace dovetail::format
