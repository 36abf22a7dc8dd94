// SPDX-License-Identifier: Apache-2.0
// The wire format of Protocol Buffers, read within bounds. The code accepts exactly what the C++
// library accepts: varints in more bytes than they need, tags whose bits above the 32nd are lost,
// groups up to a depth.
#pragma once

#include <cstddef>
#include <cstdint>

#include <dovetail/bytes.h>

#include "format/endian.h"

namespace dovetail::format {

/// The lowest three bits of a tag.
enum class WireType : std::uint32_t { varint = 0, fixed64 = 1, bytes = 2, group = 3, end_group = 4, fixed32 = 5 };

constexpr WireType wire_type(std::uint32_t tag) noexcept {
  return static_cast<WireType>(tag & 7);
}
constexpr std::uint32_t wire_tag(std::uint32_t field, WireType type) noexcept {
  return field << 3 | static_cast<std::uint32_t>(type);
}

/// The fault of a message, and its place.
struct WireFault {
  const char* what = nullptr;
  const std::byte* at = nullptr;
};

/// The limit of nested messages and groups, as in the C++ library.
constexpr int kWireDepth = 100;
/// The limit of a message's bytes, as in the C++ library.
constexpr std::uint64_t kWireBytes = 0x7FFFFFFF;
/// Bytes of the longest varint.
constexpr std::size_t kVarintBytes = 10;

/// Walks over the fields of one message. A call that fails puts the reason into `fault`; after that
/// the cursor must not be used.
///
/// Ownership: borrows the bytes. All views that it returns borrow them, too.
class WireCursor {
 public:
  WireCursor() noexcept = default;
  explicit WireCursor(ByteView bytes) noexcept : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool done() const noexcept { return at_ == end_; }
  const std::byte* at() const noexcept { return at_; }
  std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }

  bool read_varint(std::uint64_t& value, WireFault& fault) noexcept {
    if (at_ != end_ && std::to_integer<unsigned>(*at_) < 0x80) {
      value = std::to_integer<std::uint64_t>(*at_++);
      return true;
    }
    return read_long_varint(value, fault);
  }

  /// Reads the tag of a field. Refuses tags that no field can have, such as the end of a group.
  bool read_tag(std::uint32_t& tag, WireFault& fault) noexcept {
    const std::byte* const start = at_;
    if (!read_any_tag(tag, fault)) return false;
    if (tag >> 3 != 0 && wire_type(tag) != WireType::end_group) return true;
    return fail(fault, tag >> 3 == 0 ? "field number 0" : "the end of a group that did not begin", start);
  }

  /// Reads a length and as many bytes.
  bool read_bytes(ByteView& bytes, WireFault& fault) noexcept {
    std::size_t size = 0;
    if (at_ != end_ && std::to_integer<unsigned>(*at_) < 0x80) {
      size = std::to_integer<std::size_t>(*at_++);
    } else if (!read_long_size(size, fault)) {
      return false;
    }
    if (size > left()) return fail(fault, "a length past the end", at_);
    bytes = ByteView(at_, size);
    at_ += size;
    return true;
  }

  /// Reads a whole field if it has the given tag, of one byte, and a length of one byte. Otherwise
  /// returns false and reads nothing.
  bool read_short(std::uint32_t tag, ByteView& bytes) noexcept {
    if (left() < 2 || std::to_integer<std::uint32_t>(at_[0]) != tag) return false;
    const auto size = std::to_integer<std::size_t>(at_[1]);
    if (size >= 0x80 || size > left() - 2) return false;
    bytes = ByteView(at_ + 2, size);
    at_ += 2 + size;
    return true;
  }

  /// Needs: `T` is an unsigned integer of 4 or 8 bytes.
  template <class T>
  bool read_fixed(T& value, WireFault& fault) noexcept {
    if (left() < sizeof(T)) return fail(fault, "a number is cut off", at_);
    value = load_le<T>(at_);
    at_ += sizeof(T);
    return true;
  }

  /// Skips the rest of the field that `tag` begins. `depth` limits the nesting of groups.
  bool skip(std::uint32_t tag, int depth, WireFault& fault) noexcept;

 private:
  static bool fail(WireFault& fault, const char* what, const std::byte* at) noexcept {
    fault = {what, at};
    return false;
  }

  bool read_any_tag(std::uint32_t& tag, WireFault& fault) noexcept {
    if (at_ != end_ && std::to_integer<unsigned>(*at_) < 0x80) {
      tag = std::to_integer<std::uint32_t>(*at_++);
      return true;
    }
    return read_long_tag(tag, fault);
  }
  bool read_long_varint(std::uint64_t& value, WireFault& fault) noexcept;
  bool read_long_tag(std::uint32_t& tag, WireFault& fault) noexcept;
  bool read_long_size(std::size_t& size, WireFault& fault) noexcept;

  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
};

}  // namespace dovetail::format
