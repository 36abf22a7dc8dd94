// SPDX-License-Identifier: Apache-2.0
#include "format/example/example_wire.h"

#include <algorithm>
#include <bit>
#include <string>

#include "format/example/packed_ints.h"
#include "format/text/utf8.h"

namespace dovetail::format {
namespace {

constexpr std::uint32_t kBytesOne = wire_tag(1, WireType::bytes);
constexpr std::uint32_t kVarintOne = wire_tag(1, WireType::varint);
constexpr std::uint32_t kFixedOne = wire_tag(1, WireType::fixed32);
constexpr std::uint32_t kEntryKey = kBytesOne;
constexpr std::uint32_t kEntryValue = wire_tag(2, WireType::bytes);

/// Returns the kind of list that a field of Feature holds, or `none` for an unknown field.
FeatureKind kind_of(std::uint32_t tag) noexcept {
  const std::uint32_t field = tag >> 3;
  return wire_type(tag) == WireType::bytes && field >= 1 && field <= 3 ? static_cast<FeatureKind>(field)
                                                                       : FeatureKind::none;
}

bool add_packed_ints(ByteView packed, std::uint64_t& count, WireFault& fault) noexcept {
  if (const auto counted = count_packed_ints(packed)) {
    count += *counted;
    return true;
  }
  WireCursor cursor(packed);  // finds the place of the fault
  for (std::uint64_t value = 0; cursor.read_varint(value, fault);) {
  }
  return false;
}

bool scan_list(ByteView list, FeatureKind kind, std::uint64_t& count, ByteView& only, WireFault& fault) noexcept {
  WireCursor cursor(list);
  only = ByteView();
  while (!cursor.done()) {
    const bool first = cursor.at() == list.data();
    std::uint32_t tag = 0;
    if (!cursor.read_tag(tag, fault)) return false;
    ByteView bytes;
    std::uint64_t varint = 0;
    std::uint32_t fixed = 0;
    if (tag == kBytesOne) {
      if (!cursor.read_bytes(bytes, fault)) return false;
      if (first && cursor.done()) only = bytes;
      if (kind == FeatureKind::bytes) {
        ++count;
      } else if (kind == FeatureKind::ints) {
        if (!add_packed_ints(bytes, count, fault)) return false;
      } else if (bytes.size() % sizeof(float) == 0) {
        count += bytes.size() / sizeof(float);
      } else {
        fault = {"packed floats of an odd length", bytes.data()};
        return false;
      }
    } else if (tag == kVarintOne && kind == FeatureKind::ints) {
      if (!cursor.read_varint(varint, fault)) return false;
      ++count;
    } else if (tag == kFixedOne && kind == FeatureKind::floats) {
      if (!cursor.read_fixed(fixed, fault)) return false;
      ++count;
    } else if (!cursor.skip(tag, kListDepth, fault)) {
      return false;
    }
  }
  return true;
}

/// Adds the lists of one value of an entry. Lists of the same kind are concatenated; a list of
/// another kind replaces them.
bool scan_value(ByteView value, FeatureView& feature, WireFault& fault) noexcept {
  WireCursor cursor(value);
  while (!cursor.done()) {
    const std::byte* const start = cursor.at();
    std::uint32_t tag = 0;
    if (!cursor.read_tag(tag, fault)) return false;
    const FeatureKind kind = kind_of(tag);
    if (kind == FeatureKind::none) {
      if (!cursor.skip(tag, kFeatureDepth, fault)) return false;
      continue;
    }
    if (kind != feature.kind) {
      feature.kind = kind;
      feature.count = 0;
      feature.lists = 0;
      feature.first = start;
    }
    if (!cursor.read_bytes(feature.list, fault)) return false;
    ++feature.lists;
    if (!scan_list(feature.list, kind, feature.count, feature.only, fault)) return false;
    if (feature.lists > 1) feature.only = ByteView();
  }
  return true;
}

}  // namespace

const char* to_text(FeatureKind kind) noexcept {
  constexpr const char* kTexts[] = {"none", "bytes_list", "float_list", "int64_list"};
  return kTexts[static_cast<std::size_t>(kind)];
}

ExampleCursor::ExampleCursor(ByteView record) noexcept : record_(record) {
  if (record.size() <= kWireBytes) return;
  fault_ = {"longer than a message may be", record.data()};
  record_ = WireCursor();
}

bool ExampleCursor::next_features() noexcept {
  while (!record_.done()) {
    std::uint32_t tag = 0;
    if (!record_.read_tag(tag, fault_)) return false;
    if (tag == kBytesOne) {
      ByteView features;
      if (!record_.read_bytes(features, fault_)) return false;
      features_ = WireCursor(features);
      return true;
    }
    if (!record_.skip(tag, kExampleDepth, fault_)) return false;
  }
  return false;
}

bool ExampleCursor::next_long(ByteView& entry) noexcept {
  for (;;) {
    // A record is one message of entries, unless someone has concatenated several.
    while (features_.done()) {
      if (!next_features()) return false;
    }
    std::uint32_t tag = 0;
    if (!features_.read_tag(tag, fault_)) return false;
    if (tag == kBytesOne) return features_.read_bytes(entry, fault_);
    if (!features_.skip(tag, kFeaturesDepth, fault_)) return false;
  }
}

bool scan_entry(ByteView entry, FeatureView& feature, WireFault& fault) noexcept {
  feature = FeatureView{};
  feature.entry = entry;
  WireCursor cursor(entry);
  while (!cursor.done()) {
    std::uint32_t tag = 0;
    if (!cursor.read_tag(tag, fault)) return false;
    ByteView bytes;
    if (tag == kEntryKey) {
      if (!cursor.read_bytes(bytes, fault)) return false;
      feature.name = as_chars(bytes);
      if (!is_utf8(feature.name)) {
        fault = {"a name that is not UTF-8", bytes.data()};
        return false;
      }
    } else if (tag == kEntryValue) {
      if (!cursor.read_bytes(bytes, fault)) return false;
      if (!scan_value(bytes, feature, fault)) return false;
    } else if (!cursor.skip(tag, kEntryDepth, fault)) {
      return false;
    }
  }
  return true;
}

FeatureValues::FeatureValues(const FeatureView& feature) noexcept : kind_(feature.kind), first_(feature.first) {
  if (feature.lists == 1) {
    list_ = WireCursor(feature.list);
  } else if (feature.lists > 1) {
    entry_ = WireCursor(feature.entry);
  }
}

bool FeatureValues::next_list() noexcept {
  while (true) {
    std::uint32_t tag = 0;
    ByteView bytes;
    while (!feature_.done()) {
      const std::byte* const start = feature_.at();
      if (!feature_.read_tag(tag, fault_)) return false;
      if (kind_of(tag) == FeatureKind::none) {
        if (!feature_.skip(tag, kFeatureDepth, fault_)) return false;
      } else {
        if (!feature_.read_bytes(bytes, fault_)) return false;
        if (start < first_) continue;
        list_ = WireCursor(bytes);
        return true;
      }
    }
    if (entry_.done() || !entry_.read_tag(tag, fault_)) return false;
    if (tag == kEntryValue) {
      if (!entry_.read_bytes(bytes, fault_)) return false;
      feature_ = WireCursor(bytes);
    } else if (!entry_.skip(tag, kEntryDepth, fault_)) {
      return false;
    }
  }
}

std::uint32_t FeatureValues::next_field() noexcept {
  const std::uint32_t single = kind_ == FeatureKind::ints ? kVarintOne : kFixedOne;
  while (true) {
    while (!list_.done()) {
      std::uint32_t tag = 0;
      if (!list_.read_tag(tag, fault_)) return 0;
      if (tag == kBytesOne || (tag == single && kind_ != FeatureKind::bytes)) return tag;
      if (!list_.skip(tag, kListDepth, fault_)) return 0;
    }
    if (!next_list()) return 0;
  }
}

bool FeatureValues::next(ByteView& value) noexcept {
  return next_field() != 0 && list_.read_bytes(value, fault_);
}

/// Reads the next number: one that is packed, or a field with the tag `single`.
template <std::uint32_t single, class Read>
bool FeatureValues::next_number(const Read& read) noexcept {
  while (packed_.done()) {
    const std::uint32_t tag = next_field();
    if (tag == 0) return false;
    if (tag == single) return read(list_);
    ByteView packed;
    if (!list_.read_bytes(packed, fault_)) return false;
    packed_ = WireCursor(packed);
  }
  return read(packed_);
}

bool FeatureValues::next(float& value) noexcept {
  std::uint32_t bits = 0;
  if (!next_number<kFixedOne>([&](WireCursor& from) { return from.read_fixed(bits, fault_); })) return false;
  value = std::bit_cast<float>(bits);
  return true;
}

bool FeatureValues::next(std::int64_t& value) noexcept {
  std::uint64_t bits = 0;
  if (!next_number<kVarintOne>([&](WireCursor& from) { return from.read_varint(bits, fault_); })) return false;
  value = static_cast<std::int64_t>(bits);
  return true;
}

Result<void> ExampleFeatures::parse(ByteView record) {
  // A repeated name takes two bytes of a record, but some hundred bytes here. So repeated names are
  // removed from time to time.
  constexpr std::size_t kLeastThinned = 1024;
  std::size_t thinned_at = kLeastThinned;
  features_.clear();
  ExampleCursor cursor(record);
  ByteView entry;
  while (cursor.next(entry)) {
    FeatureView feature;
    WireFault fault;
    if (!scan_entry(entry, feature, fault)) {
      features_.clear();
      return example_error(record, fault);
    }
    features_.push_back(feature);
    if (features_.size() < thinned_at) continue;
    keep_last_of_each();
    thinned_at = std::max(kLeastThinned, 2 * features_.size());
  }
  if (cursor.fault().what != nullptr) {
    features_.clear();
    return example_error(record, cursor.fault());
  }
  keep_last_of_each();
  return {};
}

void ExampleFeatures::keep_last_of_each() {
  // Entries further back sort first, so the first of each name is the last in the record.
  std::sort(features_.begin(), features_.end(), [](const FeatureView& a, const FeatureView& b) {
    const int order = a.name.compare(b.name);
    return order != 0 ? order < 0 : a.entry.data() > b.entry.data();
  });
  const auto same_name = [](const FeatureView& a, const FeatureView& b) { return a.name == b.name; };
  features_.erase(std::unique(features_.begin(), features_.end(), same_name), features_.end());
}

const FeatureView* ExampleFeatures::find(std::string_view name) const noexcept {
  const auto found =
      std::lower_bound(features_.begin(), features_.end(), name,
                       [](const FeatureView& feature, std::string_view key) { return feature.name < key; });
  return found != features_.end() && found->name == name ? &*found : nullptr;
}

Error example_error(ByteView record, const WireFault& fault) {
  const auto offset = static_cast<std::uint64_t>(fault.at - record.data());
  return Error(Errc::bad_message, "tf.train.Example: " + std::string(fault.what) + ", at byte " +
                                      std::to_string(offset) + " of the record");
}

}  // namespace dovetail::format
