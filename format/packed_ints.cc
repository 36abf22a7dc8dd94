// SPDX-License-Identifier: Apache-2.0
// Where a varint ends is in the highest bits of its bytes, and lengths are what a processor cannot guess. So the ends of
// 64 bytes are found first, without a branch; the numbers between them then do not wait for each other.
#include "format/packed_ints.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "format/endian.h"
#include "format/wire.h"

namespace dovetail::format {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080;
constexpr std::size_t kBlock = 64;
// A number that begins in a block may end behind it.
constexpr std::size_t kBehindBlock = 8;
constexpr std::size_t kShortBytes = 4;

/// Bit i is set where the byte i is the last one of a varint.
inline std::uint64_t ends_in(const std::byte* block) noexcept {
  std::uint64_t ends = 0;
  for (std::size_t i = 0; i < kBlock / 8; ++i) {
    const std::uint64_t high = (~load_le<std::uint64_t>(block + 8 * i) & kHighBits) >> 7;
    ends |= (high * 0x0102040810204080) >> 56 << (8 * i);  // the lowest bit of each byte, side by side
  }
  return ends;
}

/// The number in the lowest `bytes` of a word. Needs: 1 to 4 bytes.
inline std::uint32_t short_varint(std::uint32_t word, std::size_t bytes) noexcept {
  word &= 0xFFFFFFFFu >> (32 - 8 * static_cast<unsigned>(bytes));
  word = (word & 0x007F007F) | ((word & 0x7F007F00) >> 1);
  return (word & 0x3FFF) | ((word & 0x3FFF0000) >> 2);
}

template <class T>
inline void put(std::byte*& to, T value) noexcept {
  std::memcpy(to, &value, sizeof(T));
  to += sizeof(T);
}

template <class T>
inline bool fits(std::uint64_t value) noexcept {
  const auto number = static_cast<std::int64_t>(value);
  if constexpr (std::is_signed_v<T>) {
    return number >= std::numeric_limits<T>::min() && number <= std::numeric_limits<T>::max();
  } else {
    return number >= 0 && value <= std::numeric_limits<T>::max();
  }
}

/// Numbers on their way from one place to the other.
template <class T>
struct Unpacking {
  const std::byte* at;  // the next number
  const std::byte* end;
  std::byte* to;
  std::uint64_t left;

  bool take_one() noexcept {
    std::uint64_t value = 0;
    WireFault fault;
    WireCursor cursor(ByteView(at, end));
    if (left == 0 || !cursor.read_varint(value, fault) || !fits<T>(value)) return false;
    at = cursor.at();
    put(to, static_cast<T>(value));
    --left;
    return true;
  }

  /// The numbers that end in the block, all of 4 bytes at most.
  bool take_short(const std::byte* block, std::uint64_t ends) noexcept {
    const auto count = static_cast<std::uint64_t>(std::popcount(ends));
    if (count > left) return false;
    left -= count;
    std::uint32_t largest = 0;
    const std::byte* start = at;
    std::byte* out = to;
    for (; ends != 0; ends &= ends - 1) {
      const std::byte* const next = block + std::countr_zero(ends) + 1;
      const std::uint32_t value = short_varint(load_le<std::uint32_t>(start), static_cast<std::size_t>(next - start));
      if constexpr (sizeof(T) < 4) largest |= value;  // as good as the largest: all limits are powers of 2
      put(out, static_cast<T>(value));
      start = next;
    }
    at = start;
    to = out;
    return sizeof(T) >= 4 || fits<T>(largest);
  }

  /// A block of numbers of one byte.
  bool take_bytes() noexcept {
    if (left < kBlock) return false;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const auto value = static_cast<T>(std::to_integer<std::uint8_t>(at[i]));
      std::memcpy(to + i * sizeof(T), &value, sizeof(T));
    }
    at += kBlock;
    to += kBlock * sizeof(T);
    left -= kBlock;
    return true;
  }

  bool take_all() noexcept {
    const std::byte* block = at;
    while (static_cast<std::size_t>(end - block) >= kBlock + kBehindBlock) {
      const std::uint64_t ends = ends_in(block);
      if (ends == ~std::uint64_t{0} && at == block) {
        if (!take_bytes()) return false;
        block = at;
        continue;
      }
      const std::uint64_t more = ~ends;
      const auto before = static_cast<std::size_t>(block - at);  // of a number that began in the block before
      const auto first = static_cast<std::size_t>(std::countr_one(more));
      if ((more & more >> 1 & more >> 2 & more >> 3) != 0 || before + first >= kShortBytes) {
        for (const std::byte* const until = std::min(block + kBlock, end); at < until;) {
          if (!take_one()) return false;
        }
        block = at;
        continue;
      }
      if (!take_short(block, ends)) return false;
      block += kBlock;
    }
    while (at < end) {
      if (!take_one()) return false;
    }
    return left == 0;
  }
};

template <class T>
bool unpack(ByteView packed, std::byte* to, std::uint64_t count) noexcept {
  return Unpacking<T>{packed.data(), packed.data() + packed.size(), to, count}.take_all();
}

}  // namespace

std::optional<std::uint64_t> count_packed_ints(ByteView packed) noexcept {
  std::uint64_t count = 0;
  std::size_t open = 0;  // bytes of a number that has not ended
  std::size_t i = 0;
  for (; packed.size() - i >= 8; i += 8) {
    const std::uint64_t more = load_le<std::uint64_t>(packed.data() + i) & kHighBits;
    const auto first = static_cast<std::size_t>(std::countr_one(more | ~kHighBits)) / 8;
    if (open + first >= kVarintBytes) return std::nullopt;
    count += 8 - static_cast<std::uint64_t>(std::popcount(more));
    open = first == 8 ? open + 8 : static_cast<std::size_t>(std::countl_one(more | ~kHighBits)) / 8;
  }
  for (; i < packed.size(); ++i) {
    if (std::to_integer<unsigned>(packed[i]) < 0x80) {
      ++count;
      open = 0;
    } else if (++open >= kVarintBytes) {
      return std::nullopt;
    }
  }
  if (open != 0) return std::nullopt;
  return count;
}

bool unpack_ints(ByteView packed, Dtype dtype, std::byte* to, std::uint64_t count) noexcept {
  switch (dtype) {
    case Dtype::u8:
      return unpack<std::uint8_t>(packed, to, count);
    case Dtype::i8:
      return unpack<std::int8_t>(packed, to, count);
    case Dtype::u16:
      return unpack<std::uint16_t>(packed, to, count);
    case Dtype::i16:
      return unpack<std::int16_t>(packed, to, count);
    case Dtype::u32:
      return unpack<std::uint32_t>(packed, to, count);
    case Dtype::i32:
      return unpack<std::int32_t>(packed, to, count);
    case Dtype::u64:
      return unpack<std::uint64_t>(packed, to, count);
    default:
      return unpack<std::int64_t>(packed, to, count);
  }
}

}  // namespace dovetail::format
