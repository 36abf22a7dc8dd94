// SPDX-License-Identifier: Apache-2.0
#include "format/wire.h"

#include <algorithm>
#include <array>

namespace dovetail::format {
namespace {

/// Reads a varint of at most `kMost` bytes. Returns the byte behind it; null if it is cut off or longer.
template <std::size_t kMost, class Bits>
const std::byte* read_bits(const std::byte* at, std::size_t left, Bits& value) noexcept {
  const std::size_t most = std::min(left, kMost);
  Bits bits = 0;
  for (std::size_t i = 0; i < most; ++i) {
    const auto byte = std::to_integer<Bits>(at[i]);
    bits |= (byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      value = bits;
      return at + i + 1;
    }
  }
  return nullptr;
}

}  // namespace

bool WireCursor::read_long_varint(std::uint64_t& value, WireFault& fault) noexcept {
  const std::byte* const end = read_bits<kVarintBytes>(at_, left(), value);
  if (end == nullptr) return fail(fault, "a varint is cut off or too long", at_);
  at_ = end;
  return true;
}

bool WireCursor::read_long_tag(std::uint32_t& tag, WireFault& fault) noexcept {
  const std::byte* const end = read_bits<5>(at_, left(), tag);
  if (end == nullptr) return fail(fault, "a tag is cut off or too long", at_);
  at_ = end;
  return true;
}

bool WireCursor::read_long_size(std::size_t& size, WireFault& fault) noexcept {
  std::uint64_t bits = 0;  // a length has 31, in at most 5 bytes
  const std::byte* const end = read_bits<5>(at_, left(), bits);
  if (end == nullptr) return fail(fault, "a length is cut off or too long", at_);
  if (bits > kWireBytes) return fail(fault, "a length past the end", at_);
  size = static_cast<std::size_t>(bits);
  at_ = end;
  return true;
}

bool WireCursor::skip(std::uint32_t tag, int depth, WireFault& fault) noexcept {
  // The open groups. A stack of our own, so that hostile bytes cannot exhaust the stack of the
  // thread.
  std::array<std::uint32_t, kWireDepth> open{};
  std::size_t groups = 0;
  const std::byte* start = at_;
  while (true) {
    std::uint64_t number = 0;
    std::uint32_t half = 0;
    ByteView bytes;
    switch (wire_type(tag)) {
      case WireType::varint:
        if (!read_varint(number, fault)) return false;
        break;
      case WireType::fixed64:
        if (!read_fixed(number, fault)) return false;
        break;
      case WireType::bytes:
        if (!read_bytes(bytes, fault)) return false;
        break;
      case WireType::fixed32:
        if (!read_fixed(half, fault)) return false;
        break;
      case WireType::group:
        if (groups >= open.size() || static_cast<int>(groups) >= depth) {
          return fail(fault, "groups are nested too deeply", start);
        }
        open[groups++] = tag >> 3;
        break;
      case WireType::end_group:
        if (open[groups - 1] != tag >> 3) return fail(fault, "the end of another group", start);
        --groups;
        break;
      default:
        return fail(fault, "an unknown wire type", start);
    }
    if (groups == 0) return true;
    start = at_;
    if (done()) return fail(fault, "a group does not end", start);
    if (!read_any_tag(tag, fault)) return false;
    if (tag >> 3 == 0) return fail(fault, "field number 0", start);
  }
}

}  // namespace dovetail::format
