// SPDX-License-Identifier: Apache-2.0
// Records of one writer have their features in one order. So the decoder expects at each place the
// name that the previous record had there, and looks a name up only if it differs. An unusual
// record (a repeated name, a feature that does not fit) takes a slower path. That path resolves the
// names first and can explain the error.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

#include <dovetail/columns.h>

#include "format/endian.h"
#include "format/example/column_rows.h"
#include "format/example/example_wire.h"
#include "format/text/json_remedy.h"
#include "format/text/suggestion.h"
#include "format/text/utf8.h"
#include "format/try.h"
#include "format/wire.h"

namespace dovetail {
namespace {

using namespace format;

// A record with more features than this takes the slow path.
constexpr std::size_t kMostPlaces = 2 * kMaxColumns;
constexpr std::size_t kNoColumn = ~std::size_t{0};
constexpr std::byte kBytesOne{wire_tag(1, WireType::bytes)};
constexpr std::byte kBytesTwo{wire_tag(2, WireType::bytes)};
constexpr std::byte kBytesThree{wire_tag(3, WireType::bytes)};
constexpr std::byte kVarintOne{wire_tag(1, WireType::varint)};
constexpr std::byte kFixedOne{wire_tag(1, WireType::fixed32)};

/// Takes the length of the field at `at`, if its tag is `tag` and the field ends exactly at `end`.
/// Returns false for anything less simple; the caller then takes another path.
inline bool take_last(const std::byte*& at, const std::byte* end, std::byte tag) noexcept {
  if (end - at < 2 || at[0] != tag) return false;
  auto length = std::to_integer<std::size_t>(at[1]);
  if (length < 0x80) {
    at += 2;
    return length == static_cast<std::size_t>(end - at);
  }
  length &= 0x7F;
  for (int i = 2; i < 6 && i < end - at; ++i) {
    const auto byte = std::to_integer<std::size_t>(at[i]);
    length |= (byte & 0x7F) << (7 * (i - 1));
    if (byte < 0x80) {
      at += i + 1;
      return length == static_cast<std::size_t>(end - at);
    }
  }
  return false;
}

/// The name expected at one place of a record, as the first bytes of its entry.
class ExpectedName {
 public:
  std::size_t column() const noexcept { return column_; }
  std::size_t size() const noexcept { return size_; }

  /// Returns whether the entry begins with the name. Needs: `entry` lies in a record that ends at
  /// `end`.
  bool begins(ByteView entry, const std::byte* end) const noexcept {
    if (entry.size() < size_ || size_ == 0) return false;
    if (static_cast<std::size_t>(end - entry.data()) < kRoom)
      return std::memcmp(entry.data(), bytes_.data(), size_) == 0;
    std::uint64_t differs = 0;
    for (std::size_t i = 0; i < whole_; i += 8) differs |= word(entry.data() + i) ^ word(bytes_.data() + i);
    return (differs | ((word(entry.data() + whole_) ^ word(bytes_.data() + whole_)) & mask_)) == 0;
  }

  void forget() noexcept { size_ = 0; }
  void expect(std::string_view name, std::size_t column) noexcept {
    size_ = 0;
    if (name.size() + 2 > kRoom - 8) return;
    bytes_.fill(std::byte{0});
    bytes_[0] = kBytesOne;
    bytes_[1] = static_cast<std::byte>(name.size());
    if (!name.empty()) std::memcpy(bytes_.data() + 2, name.data(), name.size());
    column_ = column;
    size_ = name.size() + 2;
    whole_ = size_ / 8 * 8;
    mask_ = (std::uint64_t{1} << (8 * (size_ - whole_))) - 1;
  }

 private:
  static constexpr std::size_t kRoom = 64;
  static std::uint64_t word(const std::byte* at) noexcept {
    std::uint64_t value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }

  std::array<std::byte, kRoom> bytes_{};
  std::size_t size_ = 0;
  std::size_t whole_ = 0;  // bytes of the name in whole words
  std::uint64_t mask_ = 0;
  std::size_t column_ = kNoColumn;
};

constexpr std::string_view kJson = "JSON";
constexpr const char* kTransformAdvice =
    "; to compute this column, give the reader map= (in C++ ReaderOptions::transform)";

/// Returns "JSON" or "text" if people can read the record. Returns an empty string for other bytes.
std::string_view readable(std::string_view record) noexcept {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto is_control = [&](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && kBlanks.find(c) == kBlanks.npos) || c == 0x7F;
  };
  if (std::any_of(record.begin(), record.end(), is_control) || !is_utf8(record)) return {};
  const std::size_t first = record.find_first_not_of(kBlanks);
  return first != record.npos && (record[first] == '{' || record[first] == '[') ? kJson : "text";
}

/// Returns `"image" (bytes_list), "label" (int64_list)`. Shortens long lists and long names.
std::string names_of(std::span<const FeatureView> features) {
  constexpr std::size_t kShown = 20;
  constexpr std::size_t kShownBytes = 100;
  std::string names;
  for (const FeatureView& feature : features.first(std::min(features.size(), kShown))) {
    const std::string name(feature.name.substr(0, kShownBytes));
    names += (names.empty() ? "\"" : ", \"") + name + (name.size() < feature.name.size() ? "...\" (" : "\" (") +
             to_text(feature.kind) + ")";
  }
  if (features.size() > kShown) names += " and " + std::to_string(features.size() - kShown) + " more";
  return names;
}

/// Returns the text of the column with the fallback that differs most clearly from a value.
std::string with_fallback(Column column) {
  const bool no_negative = column.dtype == Dtype::u8 || column.dtype == Dtype::u16 || column.dtype == Dtype::u32 ||
                           column.dtype == Dtype::u64;
  const bool real = column.dtype == Dtype::f16 || column.dtype == Dtype::f32 || column.dtype == Dtype::f64;
  column.fallback = column.ragged || column.dtype == Dtype::bytes ? "" : real ? "nan" : no_negative ? "0" : "-1";
  return to_text(Schema{{std::move(column)}});
}

std::string fallback_advice(const Column& column) {
  return "; with a fallback, such as " + with_fallback(column) + ", rows get that instead";
}

}  // namespace

class ColumnDecoder::Impl {
 public:
  explicit Impl(Schema schema) : schema_(std::move(schema)), rows_(schema_), seen_(schema_.columns.size(), 0) {
    for (std::size_t i = 0; i < schema_.columns.size(); ++i) columns_.emplace(schema_.columns[i].name, i);
  }
  Impl(const Impl& other) : Impl(other.schema_) {}

  const Schema& schema() const noexcept { return schema_; }
  ColumnRows& rows() noexcept { return rows_; }

  Result<void> add(std::uint32_t row, ByteView record) {
    const ColumnRows::Mark before = rows_.mark();
    if (add_usual(row, record)) return {};
    rows_.take_back(before);
    return or_nothing(row, before, add_any(row, record));
  }

  Result<void> add(std::uint32_t row, const std::function<Result<void>(RowWriter&)>& fill) {
    const ColumnRows::Mark before = rows_.mark();
    is_set_.assign(schema_.columns.size(), false);
    RowWriter writer(schema_, rows_, is_set_, row);
    Result<void> filled = fill(writer);
    return or_nothing(row, before, filled ? put_unset(row) : filled);
  }

 private:
  /// Takes a row back that could not be added, and leaves the row empty.
  Result<void> or_nothing(std::uint32_t row, const ColumnRows::Mark& before, Result<void> added) {
    if (!added) {
      rows_.take_back(before);
      rows_.put_nothing(row);
    }
    return added;
  }
  Result<void> put_unset(std::uint32_t row) {
    for (std::size_t column = 0; column < is_set_.size(); ++column) {
      if (is_set_[column] || rows_.put_fallback(column, row)) continue;
      return Error(Errc::invalid_option, "column \"" + schema_.columns[column].name +
                                             "\" is not set; set it, or give it a fallback, such as " +
                                             with_fallback(schema_.columns[column]));
    }
    return {};
  }
  /// Returns false if the record needs the slow path, `add_any`.
  bool add_usual(std::uint32_t row, ByteView record);
  bool add_entry(std::uint32_t row, ByteView entry, std::size_t place, const std::byte* record_end);
  bool put_value(std::size_t column, std::uint32_t row, const std::byte* at, const std::byte* end);
  bool note(std::size_t column) noexcept {
    if (seen_[column] == stamp_) return false;
    seen_[column] = stamp_;
    ++found_;
    return true;
  }
  Result<void> add_any(std::uint32_t row, ByteView record);
  /// Suggests what to do about a feature that the record lacks. A similar name was most likely
  /// meant. A column that no record had is most likely computed by a transform, which was forgotten.
  std::string instead_of(std::size_t number) const {
    const Column& column = schema_.columns[number];
    const auto features = features_.all();
    if (features.empty()) return ", nor any other" + fallback_advice(column);
    std::vector<std::string> names;
    for (const FeatureView& feature : features) {
      if (!columns_.contains(feature.name)) names.emplace_back(feature.name);
    }
    const std::string near = closest(column.name, names);
    if (near.empty())
      return ", only " + names_of(features) + (seen_[number] == 0 ? kTransformAdvice : "") + fallback_advice(column);
    return "; did you mean \"" + near + "\"? It has only " + names_of(features);
  }
  Error unfit(std::uint32_t row, std::size_t column, const std::string& why) const {
    return Error(Errc::invalid_option,
                 "row " + std::to_string(row) + ", column \"" + schema_.columns[column].name + "\": " + why);
  }

  Schema schema_;
  ColumnRows rows_;
  std::unordered_map<std::string_view, std::size_t> columns_;  // by the names in schema_
  std::vector<ExpectedName> expected_;
  std::vector<std::uint64_t> seen_;  // by column: the stamp of the last record that had it
  std::uint64_t stamp_ = 0;          // of the current record
  std::size_t found_ = 0;
  std::vector<bool> is_set_;  // by column: whether a function has filled the row
  ExampleFeatures features_;
};

bool ColumnDecoder::Impl::put_value(std::size_t column, std::uint32_t row, const std::byte* at, const std::byte* end) {
  if (!take_last(at, end, kBytesTwo) || at == end) return false;
  const std::byte kind = *at;
  if ((kind != kBytesOne && kind != kBytesTwo && kind != kBytesThree) || !take_last(at, end, kind) || at == end) {
    return false;
  }
  const std::byte first = *at;
  if (first == kBytesOne) {
    if (!take_last(at, end, kBytesOne)) return false;
    const ByteView bytes(at, end);
    if (kind == kBytesThree) return rows_.put_packed_ints(column, row, bytes);
    return kind == kBytesTwo ? rows_.put_packed_floats(column, row, bytes) : rows_.put_bytes(column, row, bytes);
  }
  // A single number that is not packed has the same bytes behind its tag.
  if (first == kFixedOne && kind == kBytesTwo && end - at == 1 + sizeof(float)) {
    return rows_.put_packed_floats(column, row, ByteView(at + 1, end));
  }
  if (first != kVarintOne || kind != kBytesThree) return false;
  const std::byte* last = at + 1;
  while (last != end && std::to_integer<unsigned>(*last) >= 0x80) ++last;
  return last + 1 == end && rows_.put_packed_ints(column, row, ByteView(at + 1, end));
}

bool ColumnDecoder::Impl::add_entry(std::uint32_t row, ByteView entry, std::size_t place, const std::byte* record_end) {
  if (place == expected_.size()) expected_.emplace_back();
  ExpectedName& expected = expected_[place];  // few: a record with many features takes the slow path
  const bool known = expected.begins(entry, record_end);
  if (known && expected.column() != kNoColumn &&
      put_value(expected.column(), row, entry.data() + expected.size(), entry.data() + entry.size())) [[likely]] {
    return note(expected.column());
  }
  FeatureView feature;
  WireFault fault;
  if (!scan_entry(entry, feature, fault)) return false;
  // The entry may have a second name behind the first. Then the second name counts.
  if (known && expected.column() == kNoColumn && as_bytes(feature.name).data() == entry.data() + 2) return true;
  const auto found = columns_.find(feature.name);
  const std::size_t column = found == columns_.end() ? kNoColumn : found->second;
  expected.expect(feature.name, column);
  if (!expected.begins(entry, record_end)) expected.forget();
  if (column == kNoColumn) return true;
  return note(column) && rows_.put(column, row, feature, nullptr);
}

bool ColumnDecoder::Impl::add_usual(std::uint32_t row, ByteView record) {
  ++stamp_;
  found_ = 0;
  const std::byte* at = record.data();
  const std::byte* const end = at + record.size();
  if (!record.empty() && (record.size() > kWireBytes || !take_last(at, end, kBytesOne))) return false;
  WireCursor cursor(ByteView(at, end));
  WireFault fault;
  ByteView entry;
  for (std::size_t place = 0; !cursor.done(); ++place) {
    if (*cursor.at() != kBytesOne || place == kMostPlaces) return false;
    std::uint32_t tag = 0;
    if (!cursor.read_tag(tag, fault) || !cursor.read_bytes(entry, fault)) return false;
    if (!add_entry(row, entry, place, end)) return false;
  }
  if (found_ == schema_.columns.size()) [[likely]]
    return true;
  for (std::size_t column = 0; column < schema_.columns.size(); ++column) {
    if (seen_[column] != stamp_ && !rows_.put_fallback(column, row)) return false;
  }
  return true;
}

Result<void> ColumnDecoder::Impl::add_any(std::uint32_t row, ByteView record) {
  if (Result<void> parsed = features_.parse(record); !parsed) {
    const std::string in_row = "row " + std::to_string(row) + ": ";
    const std::string_view kind = readable(as_chars(record));
    if (kind.empty()) return Error(parsed.error().code(), in_row + parsed.error().detail());
    const std::string mend = kind == kJson ? "; " + std::string(format::kJsonRemedy) + ", or use a map" : "";
    return Error(Errc::invalid_option,
                 in_row + "the record is " + std::string(kind) + ", but columns need a tf.train.Example" + mend);
  }
  for (std::size_t column = 0; column < schema_.columns.size(); ++column) {
    const FeatureView* const feature = features_.find(schema_.columns[column].name);
    if (feature == nullptr) {
      if (!rows_.put_fallback(column, row)) {
        return unfit(row, column, "the record has no such feature" + instead_of(column));
      }
      continue;
    }
    seen_[column] = stamp_;
    std::string why;
    if (rows_.put(column, row, *feature, &why)) continue;
    const bool empty = why == ColumnRows::kEmptyFeature;
    why += ", in the entry at byte " + std::to_string(feature->entry.data() - record.data()) + " of the record";
    return unfit(row, column, empty ? why + fallback_advice(schema_.columns[column]) : why);
  }
  return {};
}

ColumnDecoder::ColumnDecoder(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
ColumnDecoder::ColumnDecoder(const ColumnDecoder& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
ColumnDecoder::ColumnDecoder(ColumnDecoder&&) noexcept = default;
ColumnDecoder& ColumnDecoder::operator=(ColumnDecoder other) noexcept {
  impl_ = std::move(other.impl_);
  return *this;
}
ColumnDecoder::~ColumnDecoder() = default;

Result<ColumnDecoder> ColumnDecoder::make(Schema schema) {
  DOVETAIL_TRY(validate(schema));
  return ColumnDecoder(std::make_unique<Impl>(std::move(schema)));
}

const Schema& ColumnDecoder::schema() const noexcept {
  return impl_->schema();
}

std::uint64_t ColumnDecoder::fixed_bytes(std::uint32_t rows) const noexcept {
  return fixed_column_bytes(impl_->schema(), rows);
}

std::uint64_t ColumnDecoder::most_bytes(std::uint32_t rows, std::uint64_t record_bytes) const noexcept {
  return std::min(fixed_bytes(rows) + most_rest_bytes(impl_->schema(), rows, record_bytes), kMostColumnBytes);
}

std::uint64_t ColumnDecoder::least_held_bytes(std::uint32_t rows) const noexcept {
  return impl_->rows().places_bytes(rows);
}

std::uint64_t ColumnDecoder::most_held_bytes(std::uint32_t rows, std::uint64_t record_bytes) const noexcept {
  return std::min(least_held_bytes(rows) + most_rest_bytes(impl_->schema(), rows, record_bytes), kMostColumnBytes);
}

std::uint64_t ColumnDecoder::held_bytes() const noexcept {
  return impl_->rows().held_bytes();
}

std::uint64_t ColumnDecoder::memory_bytes() const noexcept {
  return impl_->rows().memory_bytes();
}

namespace {

Result<void> check_room(std::uint64_t needed, std::size_t there, std::uint32_t rows) {
  if (needed <= there) return {};
  return Error(Errc::batch_too_large, "the columns of " + std::to_string(rows) + " rows need " +
                                          std::to_string(needed) + " bytes, but the slab has " + std::to_string(there));
}

}  // namespace

Result<void> ColumnDecoder::begin(std::uint32_t rows, std::span<std::byte> slab) {
  impl_->rows().begin(rows, slab);
  return check_room(impl_->rows().fixed_bytes(), slab.size(), rows);
}

Result<void> ColumnDecoder::add(std::uint32_t row, ByteView record) {
  return impl_->add(row, record);
}

Result<void> ColumnDecoder::add(std::uint32_t row, const std::function<Result<void>(RowWriter&)>& fill) {
  return impl_->add(row, fill);
}

void ColumnDecoder::add_empty(std::uint32_t row) noexcept {
  impl_->rows().put_nothing(row);
}

void ColumnDecoder::copy_row(std::uint32_t from, std::uint32_t to) noexcept {
  impl_->rows().copy_row(from, to);
}

void ColumnDecoder::keep() {
  impl_->rows().keep();
}

std::uint64_t ColumnDecoder::bytes() const noexcept {
  return impl_->rows().bytes();
}

Result<const ColumnLayout*> ColumnDecoder::finish(std::span<std::byte> slab) {
  ColumnRows& rows = impl_->rows();
  DOVETAIL_TRY(check_room(rows.bytes(), slab.size(), rows.rows()));
  return &rows.finish(slab);
}

Result<const ColumnLayout*> ColumnDecoder::decode(std::span<const ByteView> records, std::span<std::byte> slab) {
  const auto rows = static_cast<std::uint32_t>(records.size());
  DOVETAIL_TRY(begin(rows, slab));
  for (std::uint32_t row = 0; row < rows; ++row) {
    if (records[row].data() == nullptr) {
      add_empty(row);
    } else if (Result<void> added = add(row, records[row]); !added) {
      return added.error();
    }
  }
  return finish(slab);
}

}  // namespace dovetail
