// SPDX-License-Identifier: Apache-2.0
// Where a varint ends is in the highest bits of its bytes, and lengths are what a processor cannot guess. So the ends of
// 64 bytes are found first, without a branch; the numbers between them then do not wait for each other.
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
// A number that begins in a block may end behind it.
constexpr std::size_t kBehindBlock = 8;
constexpr std::size_t kShortBytes = 4;
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
/// Whether the processor takes bits out of a word with one instruction, and not, as the first ones of AMD that had it, with
/// some hundred steps.
const bool kHasExtraction = [] {
  __builtin_cpu_init();
  return __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("amdfam17h");
}();

template <class T>
[[gnu::target("bmi,bmi2")]] std::uint32_t extract_short(const std::byte* block, std::uint64_t ends,
                                                        const std::byte*& start, std::byte*& to) noexcept {
  std::uint32_t largest = 0;
  const std::byte* at = start;
  std::byte* out = to;
  for (; ends != 0; ends &= ends - 1) {
    const std::byte* const next = block + __builtin_ctzll(ends) + 1;
    std::uint32_t word;
    std::memcpy(&word, at, sizeof(word));
    word = __builtin_ia32_bzhi_si(word, 8 * static_cast<unsigned>(next - at));
    const std::uint32_t value = __builtin_ia32_pext_si(word, 0x7F7F7F7F);
    if constexpr (sizeof(T) < 4) largest |= value;
    const auto number = static_cast<T>(value);
    std::memcpy(out, &number, sizeof(T));
    out += sizeof(T);
    at = next;
  }
  start = at;
  to = out;
  return largest;
}
#else
constexpr bool kHasExtraction = false;
template <class T>
std::uint32_t extract_short(const std::byte*, std::uint64_t, const std::byte*&, std::byte*&) noexcept {
  return 0;
}
#endif

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

  /// The numbers that end in the block, all of 4 bytes at most.
  bool take_short(const std::byte* block, std::uint64_t ends) noexcept {
    const auto count = static_cast<std::uint64_t>(std::popcount(ends));
    if (count > left) return false;
    left -= count;
    if (kHasExtraction) return fits<T>(extract_short<T>(block, ends, at, to));
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
    const std::byte* block = at;
    while (block < end && static_cast<std::size_t>(room_end - block) >= kBlock + kBehindBlock) {
      std::uint64_t ends = ends_in(block);
      const auto there = static_cast<std::size_t>(end - block);
      if (ends == ~std::uint64_t{0} && at == block && there >= kBlock) {
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
      if (there < kBlock) ends &= (std::uint64_t{1} << there) - 1;
      if (!take_short(block, ends)) return false;
      block += kBlock;
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
