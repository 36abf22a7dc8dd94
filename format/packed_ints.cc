// SPDX-License-Identifier: Apache-2.0
// Where a varint ends is in the highest bits of its bytes, and lengths are what a processor cannot guess. So the ends of
// 64 bytes are found first, without a branch; where the next 8 of them end says how up to four numbers lie there, and so
// how to bring all four to their places at once.
#include "format/packed_ints.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "format/endian.h"
#include "format/wire.h"

namespace dovetail::format {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080;
constexpr std::size_t kBlock = 64;
// As much is looked at behind a block when its last numbers are taken.
constexpr std::size_t kBehindBlock = 8;
constexpr std::size_t kShortBytes = 4;
constexpr std::size_t kGroup = 4;  // numbers
// Two blocks, for what is left when less than one with something behind it is.
constexpr std::size_t kSpareBytes = 2 * (kBlock + kBehindBlock);

/// Bit i is set where the byte i is the last one of a varint.
#if defined(__SSE2__) && defined(__GNUC__)
inline std::uint64_t ends_in(const std::byte* block) noexcept {
  using Bytes [[gnu::vector_size(16)]] = char;
  std::uint64_t more = 0;
  for (std::size_t i = 0; i < kBlock / sizeof(Bytes); ++i) {
    Bytes bytes;
    std::memcpy(&bytes, block + i * sizeof(Bytes), sizeof(Bytes));
    more |= static_cast<std::uint64_t>(static_cast<unsigned>(__builtin_ia32_pmovmskb128(bytes))) << 16 * i;
  }
  return ~more;
}
#else
inline std::uint64_t ends_in(const std::byte* block) noexcept {
  std::uint64_t ends = 0;
  for (std::size_t i = 0; i < kBlock / 8; ++i) {
    const std::uint64_t high = (~load_le<std::uint64_t>(block + 8 * i) & kHighBits) >> 7;
    ends |= (high * 0x0102040810204080) >> 56 << (8 * i);  // the lowest bit of each byte, side by side
  }
  return ends;
}
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#define DOVETAIL_SHUFFLES_VARINTS 1
/// Every processor since 2006, but compilers must not assume it.
const bool kCanShuffle = [] {
  __builtin_cpu_init();
  return __builtin_cpu_supports("ssse3") != 0;
}();

/// How the first numbers of 8 bytes lie there, by where they end: up to four, of up to four bytes. Tables of their own,
/// because finding the next group waits for `bytes`.
struct Groups {
  alignas(16) std::array<std::array<char, 16>, 256> places{};  // of the bytes of each number; -1 for none
  std::array<std::uint8_t, 256> count{};
  std::array<std::uint8_t, 256> bytes{};
};
constexpr Groups kGroups = [] {
  Groups groups;
  for (unsigned ends = 0; ends < groups.count.size(); ++ends) {
    std::uint8_t& count = groups.count[ends];
    std::uint8_t& bytes = groups.bytes[ends];
    groups.places[ends].fill(-1);
    for (unsigned i = 0; i < 8 && count < kGroup && i - bytes < kShortBytes; ++i) {
      if ((ends >> i & 1) == 0) continue;
      for (unsigned k = bytes; k <= i; ++k) {
        groups.places[ends][kShortBytes * count + k - bytes] = static_cast<char>(k);
      }
      ++count;
      bytes = static_cast<std::uint8_t>(i + 1);
    }
  }
  return groups;
}();
#endif

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
  std::byte* spare;  // kSpareBytes

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

#ifdef DOVETAIL_SHUFFLES_VARINTS
  /// Numbers from `at` on, block after block, as long as most are short; `ends` are those of the first block. False where
  /// one does not fit.
  [[gnu::target("ssse3")]] bool take_groups(std::uint64_t ends) noexcept {
    using Bytes [[gnu::vector_size(16)]] = char;
    using Words [[gnu::vector_size(16)]] = std::uint32_t;
    Words largest{};
    // Copies: the stores below could change anything else, as far as the compiler knows.
    const std::byte* const last = end;
    const std::byte* block = at;
    std::byte* out = to;
    std::uint64_t room = left;
    while (true) {
      std::size_t taken = 0;
      while (taken < kBlock && room >= kGroup) {
        const std::size_t group = ends >> taken & 0xFF;
        const std::size_t count = kGroups.count[group];
        if (count == 0) break;
        Bytes places;
        std::memcpy(&places, kGroups.places[group].data(), sizeof(places));
        std::uint64_t eight;
        std::memcpy(&eight, block + taken, sizeof(eight));
        using Halves [[gnu::vector_size(16)]] = std::uint64_t;
        auto words =
            reinterpret_cast<Words>(__builtin_ia32_pshufb128(reinterpret_cast<Bytes>(Halves{eight, 0}), places));
        words = (words & 0x007F007F) | ((words & 0x7F007F00) >> 1);
        words = (words & 0x3FFF) | ((words & 0x3FFF0000) >> 2);
        if constexpr (sizeof(T) == 4) {
          std::memcpy(out, &words, sizeof(words));
        } else {
          if constexpr (sizeof(T) < 4) largest |= words;
          std::array<T, kGroup> numbers{static_cast<T>(words[0]), static_cast<T>(words[1]), static_cast<T>(words[2]),
                                        static_cast<T>(words[3])};
          std::memcpy(out, numbers.data(), sizeof(numbers));
        }
        taken += kGroups.bytes[group];
        out += count * sizeof(T);
        room -= count;
      }
      block += taken;
      const bool whole = static_cast<std::size_t>(last - block) >= kBlock + kBehindBlock;
      if (taken < kBlock / 2 || !whole) break;
      ends = ends_in(block);
      if (ends == ~std::uint64_t{0}) break;  // a faster way for these
    }
    at = block;
    to = out;
    left = room;
    // As good as the largest: all limits are powers of 2.
    return sizeof(T) >= 4 || fits<T>(largest[0] | largest[1] | largest[2] | largest[3]);
  }
#else
  static constexpr bool kCanShuffle = false;
  bool take_groups(std::uint64_t) noexcept {
    return true;
  }
#endif

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
    if (end - at > 2 && !take_blocks(end)) return false;
    if (end - at > 2) {
      // The rest again in blocks, of a copy with something behind it.
      const auto rest = static_cast<std::size_t>(end - at);
      std::memcpy(spare, at, rest);
      std::memset(spare + rest, 0, kSpareBytes - rest);
      at = spare;
      end = at + rest;
      if (!take_blocks(spare + kSpareBytes)) return false;
    }
    while (at < end) {
      if (!take_one()) return false;
    }
    return true;
  }

  /// The numbers of all blocks that lie before `room_end` with something behind them, and begin before the end.
  bool take_blocks(const std::byte* room_end) noexcept {
    while (at < end && static_cast<std::size_t>(room_end - at) >= kBlock + kBehindBlock) {
      const std::byte* const block = at;
      std::uint64_t ends = ends_in(block);
      const auto there = static_cast<std::size_t>(end - block);
      if (there < kBlock) {
        ends &= (std::uint64_t{1} << there) - 1;
      } else if (ends == ~std::uint64_t{0}) {
        if (!take_bytes()) return false;
        continue;
      }
      if (kCanShuffle && !take_groups(ends)) return false;
      if (at - block >= static_cast<std::ptrdiff_t>(kBlock) / 2) continue;
      for (const std::byte* const until = block + std::min(there, kBlock - kBehindBlock); at < until;) {
        if (!take_one()) return false;
      }
    }
    return true;
  }
};

/// Writes up to `count` numbers; gives how many of them were not there.
template <class T>
std::optional<std::uint64_t> unpack(ByteView packed, std::byte* to, std::uint64_t count) noexcept {
  std::array<std::byte, kSpareBytes> spare;
  Unpacking<T> unpacking{packed.data(), packed.data() + packed.size(), to, count, spare.data()};
  if (!unpacking.take_all()) return std::nullopt;
  return unpacking.left;
}

std::optional<std::uint64_t> unpack(ByteView packed, Dtype dtype, std::byte* to, std::uint64_t count) noexcept {
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

}  // namespace

std::optional<std::uint64_t> count_packed_ints(ByteView packed) noexcept {
  std::uint64_t count = 0;
  std::size_t open = 0;  // bytes of a number that has not ended
  std::size_t i = 0;
  for (; packed.size() - i >= 8; i += 8) {
    const std::uint64_t more = load_le<std::uint64_t>(packed.data() + i) & kHighBits;
    const auto first = static_cast<std::size_t>(std::countr_one(more | ~kHighBits)) / 8;
    if (open + first >= kVarintBytes) return std::nullopt;
    count += 8 - (((more >> 7) * 0x0101010101010101) >> 56);  // std::popcount would be a call
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

std::optional<std::uint64_t> unpack_all_ints(ByteView packed, Dtype dtype, std::byte* to) noexcept {
  const auto missing = unpack(packed, dtype, to, packed.size());
  if (!missing) return std::nullopt;
  return packed.size() - *missing;
}

bool unpack_ints(ByteView packed, Dtype dtype, std::byte* to, std::uint64_t count) noexcept {
  return unpack(packed, dtype, to, count) == 0u;
}

}  // namespace dovetail::format
