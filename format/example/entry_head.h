// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dovetail/bytes.h>

#include "format/endian.h"
#include "format/example/example_wire.h"

namespace dovetail::format {

/// The bytes of a short entry up to its value: its tag, and all tags, lengths and the name inside.
/// Entries of a feature mostly begin with the same bytes in all records. If they do, these need not
/// be read again, and the place of the next entry is known at once.
class EntryHead {
 public:
  /// Keeps the head of an entry that `scan_short` found in a record, unless it is longer than most.
  void keep(const FeatureView& feature) noexcept {
    const std::size_t value = feature.only.size();
    const bool ints = feature.kind == FeatureKind::ints;
    const std::byte* const begin = feature.entry.data() - kTagAndLength;
    forget();
    head_ = static_cast<std::uint8_t>(kTagAndLength + feature.entry.size() - value);
    if (head_ > kMostHead || (ints && value > kTail)) return;
    // Tags and lengths may have more bytes than they need.
    if (load_le<std::uint16_t>(begin) != (feature.entry.size() << 8 | wire_tag(1, WireType::bytes))) return;
    bytes_ = static_cast<std::uint8_t>(head_ + value);
    // Without a call, as in `same_bytes`: heads are short, and have at least 10 bytes.
    for (std::size_t i = 0; i + 8 < head_; i += 8) std::memcpy(&text_[i], begin + i, 8);
    std::memcpy(&text_[head_ - 8U], begin + head_ - 8, 8);
    // The count of integers depends on the highest bits of their bytes.
    ends_mask_ = ints && value > 0 ? std::uint64_t{0x8080808080808080} << 8 * (kTail - value) : 0;
    ends_ = tail(begin) & ends_mask_;
  }
  void forget() noexcept { bytes_ = 0; }

  /// The size of the whole entry, with its tag.
  std::size_t bytes() const noexcept { return bytes_; }

  /// If `rest` begins with an entry of this head and as many values, makes a view of it from
  /// `feature`, a view of an entry with this head. Otherwise returns false.
  bool move(ByteView rest, FeatureView& feature) const noexcept {
    if (bytes_ == 0 || rest.size() < bytes_ || !same_bytes(rest.data(), text_.data(), head_) ||
        (tail(rest.data()) & ends_mask_) != ends_) {
      return false;
    }
    const std::byte* const value = rest.data() + head_;
    feature.name = as_chars(rest.subspan(kTagAndLength + 2, feature.name.size()));
    feature.list = ByteView(value - 2, feature.list.size());
    feature.entry = rest.subspan(kTagAndLength, feature.entry.size());
    feature.first = value - 4;
    feature.only = ByteView(value, feature.only.size());
    return true;
  }

 private:
  static constexpr std::size_t kTagAndLength = 2;
  static constexpr std::size_t kMostHead = 42;  // a name of 32 bytes
  static constexpr std::size_t kTail = sizeof(std::uint64_t);

  std::uint64_t tail(const std::byte* begin) const noexcept { return load_le<std::uint64_t>(begin + bytes_ - kTail); }

  std::array<std::byte, kMostHead> text_;
  std::uint8_t head_ = 0;
  std::uint8_t bytes_ = 0;  // 0: nothing is kept
  std::uint64_t ends_mask_ = 0;
  std::uint64_t ends_ = 0;
};

}  // namespace dovetail::format
