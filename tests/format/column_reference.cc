// SPDX-License-Identifier: Apache-2.0
#include "tests/format/column_reference.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <google/protobuf/stubs/logging.h>

#include "example.pb.h"
#include "format/example/half.h"
#include "format/wire.h"
#include "tests/format/example_messages.h"

namespace dovetail::test {

using namespace format;

namespace {

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

template <class T>
std::optional<std::string> integer(std::int64_t value) {
  if (!std::in_range<T>(value)) return std::nullopt;
  return bytes_of(static_cast<T>(value));
}

std::optional<std::string> integer(std::int64_t value, Dtype dtype) {
  switch (dtype) {
    case Dtype::u8:
      return integer<std::uint8_t>(value);
    case Dtype::i8:
      return integer<std::int8_t>(value);
    case Dtype::u16:
      return integer<std::uint16_t>(value);
    case Dtype::i16:
      return integer<std::int16_t>(value);
    case Dtype::u32:
      return integer<std::uint32_t>(value);
    case Dtype::i32:
      return integer<std::int32_t>(value);
    case Dtype::u64:
      return integer<std::uint64_t>(value);
    case Dtype::i64:
      return integer<std::int64_t>(value);
    default:
      return std::nullopt;
  }
}

std::optional<std::string> whole(std::int64_t value, const Column& column) {
  const auto wide = static_cast<long double>(value);  // 64 bits hold every int64
  if (column.ragged || column.dtype < Dtype::f16) return integer(value, column.dtype);
  if (column.dtype == Dtype::f32 && static_cast<long double>(static_cast<float>(value)) == wide) {
    return bytes_of(static_cast<float>(value));
  }
  if (column.dtype == Dtype::f64 && static_cast<long double>(static_cast<double>(value)) == wide) {
    return bytes_of(static_cast<double>(value));
  }
  return std::nullopt;
}

std::optional<std::string> floating(float value, Dtype dtype) {
  if (dtype == Dtype::f16) return bytes_of(to_half(value));
  if (dtype == Dtype::f32) return bytes_of(value);
  if (dtype == Dtype::f64) return bytes_of(static_cast<double>(value));
  return std::nullopt;
}

/// The values of one row as bytes, and the texts of one of texts.
struct Row {
  std::string values;
  std::vector<std::string> texts;
};

std::optional<Row> fallback_row(const Column& column) {
  if (!column.fallback) return std::nullopt;
  Row row;
  if (column.ragged) return row;
  if (column.dtype == Dtype::bytes) {
    row.texts.push_back(*column.fallback);
    return row;
  }
  for (std::uint64_t i = 0; i < column.values(); ++i) {
    if (column.dtype == Dtype::u64) {
      row.values += bytes_of<std::uint64_t>(std::stoull(*column.fallback));
    } else if (column.dtype == Dtype::f64) {
      row.values += bytes_of(std::stod(*column.fallback));
    } else if (column.dtype < Dtype::f16) {
      row.values += *integer(std::stoll(*column.fallback), column.dtype);
    } else {
      row.values += *floating(std::stof(*column.fallback), column.dtype);
    }
  }
  return row;
}

std::optional<Row> row_of(const Column& column, const tfexample::Feature& feature) {
  if (feature.kind_case() == tfexample::Feature::KIND_NOT_SET) return fallback_row(column);
  Row row;
  const auto& texts = feature.bytes_list().value();
  if (column.dtype == Dtype::bytes) {
    if (feature.has_bytes_list() && texts.empty() && column.fallback) return fallback_row(column);
    if (!feature.has_bytes_list() || (!column.ragged && texts.size() != 1)) return std::nullopt;
    row.texts.assign(texts.begin(), texts.end());
    return row;
  }
  if (feature.has_bytes_list()) {
    if (texts.size() > 1) return std::nullopt;
    if (!texts.empty()) row.values = texts.Get(0);
  }
  for (const std::int64_t value : feature.int64_list().value()) {
    const auto bytes = whole(value, column);
    if (!bytes) return std::nullopt;
    row.values += *bytes;
  }
  for (const float value : feature.float_list().value()) {
    const auto bytes = floating(value, column.dtype);
    if (!bytes) return std::nullopt;
    row.values += *bytes;
  }
  const bool wide = column.dtype == Dtype::f32 || column.dtype == Dtype::f64;
  if (feature.has_int64_list() && column.dtype >= Dtype::f16 && (column.ragged || !wide)) return std::nullopt;
  if (feature.has_float_list() && column.dtype < Dtype::f16) return std::nullopt;
  const bool none = texts.empty() && feature.int64_list().value().empty() && feature.float_list().value().empty();
  if (none && column.fallback) return fallback_row(column);
  const std::uint64_t item = column.values() * dtype_bytes(column.dtype);
  if (column.ragged ? row.values.size() % item != 0 : row.values.size() != item) return std::nullopt;
  return row;
}

void append(const Column& column, const Row& row, ReferenceColumn& to) {
  if (column.dtype == Dtype::bytes) {
    if (column.ragged) to.offsets.push_back(to.offsets.back() + static_cast<std::int64_t>(row.texts.size()));
    for (const std::string& text : row.texts) {
      to.values += text;
      to.text_offsets.push_back(static_cast<std::int64_t>(to.values.size()));
    }
    return;
  }
  to.values += row.values;
  const std::uint64_t item = column.values() * dtype_bytes(column.dtype);
  if (column.ragged) to.offsets.push_back(static_cast<std::int64_t>(to.values.size() / item));
}

Row empty_row(const Column& column) {
  Row row;
  if (column.ragged) return row;
  if (column.dtype == Dtype::bytes) {
    row.texts.emplace_back();
  } else {
    row.values.assign(column.values() * dtype_bytes(column.dtype), '\0');
  }
  return row;
}

/// A number of values that fits the column, nearly always.
std::uint64_t random_count(const Column& column, Draws& draws) {
  std::uint64_t count = column.values() * (column.ragged ? draws.below(draws.below(8) == 0 ? 100 : 5) : 1);
  if (draws.below(200) == 0) ++count;
  return count;
}

std::int64_t random_integer(Dtype dtype, Draws& draws) {
  if (draws.below(2000) == 0) return static_cast<std::int64_t>(draws.next());
  const auto bits = static_cast<unsigned>(8 * dtype_bytes(dtype));
  const bool is_signed = (static_cast<unsigned>(dtype) & 1) != 0;
  const std::uint64_t narrow = draws.next() >> draws.below(64) >> (64 - std::min(bits, 63u) + (is_signed ? 1 : 0));
  return is_signed && draws.below(3) == 0 ? -static_cast<std::int64_t>(narrow) : static_cast<std::int64_t>(narrow);
}

std::string list_of_integers(const Column& column, Draws& draws) {
  std::string packed;
  std::string unpacked;
  const bool pack = draws.below(4) != 0;
  for (std::uint64_t left = random_count(column, draws); left > 0; --left) {
    const auto value = static_cast<std::uint64_t>(random_integer(column.dtype, draws));
    (pack ? packed : unpacked) += pack ? wire_varint(value) : wire_varint_field(1, value);
  }
  return packed.empty() && draws.below(2) == 0 ? unpacked : wire_field(1, packed) + unpacked;
}

std::string list_of_floats(const Column& column, Draws& draws) {
  std::string packed;
  std::string unpacked;
  const bool pack = draws.below(4) != 0;
  for (std::uint64_t left = random_count(column, draws); left > 0; --left) {
    const std::string value = bytes_of(static_cast<float>(draws.below(100000)) / 512.0f);
    (pack ? packed : unpacked) += pack ? value : wire_varint(wire_tag(1, WireType::fixed32)) + value;
  }
  return pack ? wire_field(1, packed) : unpacked;
}

std::string random_feature(const Column& column, Draws& draws) {
  if (draws.below(400) == 0) return {};
  if (column.dtype == Dtype::bytes) {
    std::string list;
    std::uint64_t count = column.ragged ? draws.below(4) : 1;
    if (draws.below(200) == 0) ++count;
    for (; count > 0; --count) list += wire_field(1, noise(draws.below(20), draws.next()));
    return wire_field(1, list);
  }
  if (draws.below(5) == 0) {
    return wire_field(1, wire_field(1, noise(random_count(column, draws) * dtype_bytes(column.dtype), draws.next())));
  }
  if (column.dtype >= Dtype::f16 && draws.below(8) == 0) return wire_field(3, list_of_integers(column, draws));
  if (column.dtype >= Dtype::f16) return wire_field(2, list_of_floats(column, draws));
  return wire_field(3, list_of_integers(column, draws));
}

}  // namespace

std::optional<std::vector<ReferenceColumn>> reference_columns(const Schema& schema,
                                                              const std::vector<std::optional<std::string>>& records) {
  static const google::protobuf::LogSilencer silencer;
  std::vector<ReferenceColumn> columns(schema.columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (schema.columns[i].ragged) columns[i].offsets.push_back(0);
    if (schema.columns[i].dtype == Dtype::bytes) columns[i].text_offsets.push_back(0);
  }
  for (const std::optional<std::string>& record : records) {
    tfexample::Example example;
    if (record && !example.ParseFromString(*record)) return std::nullopt;
    const auto& features = example.features().feature();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Column& column = schema.columns[i];
      const auto found = features.find(column.name);
      const auto row = !record                   ? std::optional(empty_row(column))
                       : found == features.end() ? fallback_row(column)
                                                 : row_of(column, found->second);
      if (!row) return std::nullopt;
      append(column, *row, columns[i]);
    }
  }
  return columns;
}

std::vector<ReferenceColumn> decoded_columns(const Schema& schema, const ColumnLayout& layout, ByteView slab) {
  std::vector<ReferenceColumn> columns;
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnView view = view_column(schema, layout, slab, i);
    ReferenceColumn& column = columns.emplace_back();
    column.values = as_chars(view.values);
    column.offsets.assign(view.offsets.begin(), view.offsets.end());
    column.text_offsets.assign(view.text_offsets.begin(), view.text_offsets.end());
  }
  return columns;
}

Schema random_schema(Draws& draws) {
  Schema schema;
  for (std::uint64_t left = 1 + draws.below(6); left > 0; --left) {
    Column& column = schema.columns.emplace_back();
    column.name = std::string(draws.below(10) == 0 ? draws.below(80) : 1, 'c') + std::to_string(left);
    column.dtype = static_cast<Dtype>(draws.below(12));
    column.ragged = draws.below(3) == 0;
    if (column.dtype != Dtype::bytes) {
      for (std::uint64_t dimensions = draws.below(3); dimensions > 0; --dimensions) {
        column.shape.push_back(static_cast<std::uint32_t>(1 + draws.below(draws.below(4) == 0 ? 40 : 4)));
      }
    }
    if (draws.below(2) == 0) column.fallback = column.ragged ? "" : column.dtype == Dtype::bytes ? "none" : "7";
  }
  return schema;
}

std::string random_record(const Schema& schema, Draws& draws) {
  std::vector<std::string> entries;
  for (const Column& column : schema.columns) {
    if (draws.below(column.fallback ? 8 : 500) == 0) continue;
    entries.push_back(wire_entry(column.name, random_feature(column, draws)));
    if (draws.below(100) == 0) entries.push_back(wire_entry(column.name, random_feature(column, draws)));
  }
  if (draws.below(3) == 0) entries.push_back(wire_entry("other", wire_field(3, wire_varint_field(1, 5))));
  if (draws.below(20) == 0) std::reverse(entries.begin(), entries.end());
  if (draws.below(50) == 0) return random_example(draws);
  std::string features;
  for (const std::string& entry : entries) features += entry;
  if (draws.below(50) == 0) features += wire_varint_field(9, 1);
  return draws.below(50) == 0 ? wire_record("") + wire_record(features) : wire_record(features);
}

}  // namespace dovetail::test
