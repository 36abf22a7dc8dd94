// SPDX-License-Identifier: Apache-2.0
// The highest bit of each byte tells whether a varint ends there. A processor cannot predict the
// lengths of varints. So the code first finds the ends in 64 bytes, without a branch. After that,
// numbers do not depend on each other. Up to four numbers that end in the same four bytes are moved
// to their places at once. A table gives the moves, by the ends in these bytes and in the three
// bytes before.
#include "format/example/packed_ints.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#if defined(__AARCH64EL__)
#include <arm_neon.h>
#endif

#include "format/endian.h"
#include "format/example/wide_varints.h"
#include "format/wire.h"

namespace dovetail::format {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080;
constexpr std::size_t kBlock = 64;
// Up to this many bytes are best decoded one number at a time.
constexpr std::ptrdiff_t kFewBytes = 16;
// Taking the last numbers of a block reads this many bytes behind the block.
constexpr std::size_t kBehindBlock = 8;
// Two blocks: room for a rest of less than one block with `kBehindBlock` bytes behind it.
constexpr std::size_t kSpareBytes = 2 * (kBlock + kBehindBlock);

/// Keeps the ends in a block before the first number of more than four bytes.
constexpr std::uint64_t before_long(std::uint64_t ends) noexcept {
  const std::uint64_t more = ~ends;
  const std::uint64_t fourth = more & more << 1 & more << 2 & more << 3;
  return fourth == 0 ? ends : ends & (((fourth & (~fourth + 1)) >> 3) - 1);
}

/// Returns whether ten bits in a row are set.
constexpr bool has_ten(std::uint64_t bits) noexcept {
  const std::uint64_t two = bits & bits >> 1;
  const std::uint64_t four = two & two >> 2;
  return (four & four >> 4 & two >> 8) != 0;
}
static_assert(has_ten(0x3FF0) && !has_ten(0x1FF01FF0) && kVarintBytes == 10);

/// Bit i is set if byte i is the last byte of a varint.
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
#elif defined(__AARCH64EL__)
inline std::uint64_t ends_in(const std::byte* block) noexcept {
  constexpr uint8x16_t kBits = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(block);
  // Each byte gives one bit; adding neighbours packs them until 64 bits are left.
  const auto bits_of = [&](std::size_t part) {
    const auto less = vcgezq_s8(vreinterpretq_s8_u8(vld1q_u8(bytes + part * sizeof(uint8x16_t))));
    return vandq_u8(less, kBits);
  };
  const uint8x16_t low = vpaddq_u8(bits_of(0), bits_of(1));
  const uint8x16_t high = vpaddq_u8(bits_of(2), bits_of(3));
  const uint8x16_t both = vpaddq_u8(low, high);
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(both, both)), 0);
}
#else
inline std::uint64_t ends_in(const std::byte* block) noexcept {
  std::uint64_t ends = 0;
  for (std::size_t i = 0; i < kBlock / 8; ++i) {
    const std::uint64_t high = (~load_le<std::uint64_t>(block + 8 * i) & kHighBits) >> 7;
    ends |= (high * 0x0102040810204080) >> 56 << (8 * i);  // packs the highest bit of each byte
  }
  return ends;
}
#endif

#if (defined(__x86_64__) && defined(__GNUC__)) || defined(__AARCH64EL__)
#if defined(__x86_64__)
#define DOVETAIL_SHUFFLED [[gnu::target("ssse3,popcnt")]]
#else
#define DOVETAIL_SHUFFLED
#endif

constexpr std::size_t kWindow = 4;  // bytes, and at most as many numbers
constexpr std::size_t kBefore = 3;  // bytes before the window that a number ending in the window may have

#if defined(__x86_64__)
/// Every x86-64 processor since 2008 has these instructions, but compilers may not assume them.
bool can_shuffle() noexcept {
  __builtin_cpu_init();
  return __builtin_cpu_supports("ssse3") != 0 && __builtin_cpu_supports("popcnt") != 0;
}
#else
bool can_shuffle() noexcept {
  return true;
}
#endif

/// Maps the ends in the last seven of 8 bytes to a shuffle: which bytes make up the numbers that
/// end in the last four bytes. 255 stands for no byte.
constexpr auto kPlaces = [] {
  std::array<std::array<char, 16>, 1 << (kBefore + kWindow)> all{};
  for (unsigned ends = 0; ends < all.size(); ++ends) {
    all[ends].fill('\xFF');
    std::size_t first = 0;
    std::size_t to = 0;
    for (std::size_t i = 0; i < kBefore + kWindow; ++i) {
      if ((ends >> i & 1) == 0) continue;
      if (i >= kBefore) {
        for (std::size_t k = first; k <= i && k - first < kWindow; ++k) {
          all[ends][to + k - first] = static_cast<char>(k + 1);
        }
        to += kWindow;
      }
      first = i + 1;
    }
  }
  return all;
}();

using Words [[gnu::vector_size(16)]] = std::uint32_t;
#if defined(__x86_64__)
using Bytes [[gnu::vector_size(16)]] = char;
using Shorts [[gnu::vector_size(16)]] = short;
using Halves [[gnu::vector_size(16)]] = std::uint64_t;
#endif

/// Returns the numbers that end in the last four of `eight` bytes. `ends` has a bit for each end.
DOVETAIL_SHUFFLED inline Words take_window(std::uint64_t eight, std::uint64_t ends) noexcept {
#if defined(__x86_64__)
  constexpr Halves kSevenBits = {~kHighBits, ~kHighBits};
  constexpr Halves kPairs = {0x8001800180018001, 0x8001800180018001};  // 1, 128, ...
  constexpr Halves kWhole = {0x4000000140000001, 0x4000000140000001};  // 1, 128 * 128, ...
  Bytes places;
  std::memcpy(&places, kPlaces[ends].data(), sizeof(places));
  const Bytes moved = __builtin_ia32_pshufb128(reinterpret_cast<Bytes>(Halves{eight, 0}), places);
  const auto seven_bits = reinterpret_cast<Bytes>(reinterpret_cast<Halves>(moved) & kSevenBits);
  const auto pairs = __builtin_ia32_pmaddubsw128(reinterpret_cast<Bytes>(kPairs), seven_bits);
  return reinterpret_cast<Words>(__builtin_ia32_pmaddwd128(pairs, reinterpret_cast<Shorts>(kWhole)));
#else
  const uint8x16_t places = vld1q_u8(reinterpret_cast<const std::uint8_t*>(kPlaces[ends].data()));
  const uint8x16_t moved = vqtbl1q_u8(vreinterpretq_u8_u64(vsetq_lane_u64(eight, vdupq_n_u64(0), 0)), places);
  const auto words = reinterpret_cast<Words>(moved);
  const Words pairs = (words & 0x007F007F) | (words & 0x7F007F00) >> 1;
  return (pairs & 0x00003FFF) | (pairs & 0x3FFF0000) >> 2;
#endif
}
#else
bool can_shuffle() noexcept {
  return false;
}
#endif

const UnpackWay kBestWay = can_take_wide() ? UnpackWay::wide
                           : can_shuffle() ? UnpackWay::shuffled
                                           : UnpackWay::portable;

template <class T>
inline bool fits(std::uint64_t value) noexcept {
  const auto number = static_cast<std::int64_t>(value);
  if constexpr (std::is_signed_v<T>) {
    return number >= std::numeric_limits<T>::min() && number <= std::numeric_limits<T>::max();
  } else {
    return number >= 0 && value <= std::numeric_limits<T>::max();
  }
}

/// The state of unpacking numbers from one place to another.
template <class T>
struct Unpacking {
  UnpackWay way;
  const std::byte* at;  // the next number
  const std::byte* end;
  std::byte* to;
  std::uint64_t left;

  bool put(std::uint64_t value, const std::byte* behind) noexcept {
    if (left == 0 || !fits<T>(value)) return false;
    const auto narrow = static_cast<T>(value);
    std::memcpy(to, &narrow, sizeof(T));
    at = behind;
    to += sizeof(T);
    --left;
    return true;
  }

  bool take_one() noexcept {
    std::uint64_t value = 0;
    WireFault fault;
    WireCursor cursor(ByteView(at, end));
    return cursor.read_varint(value, fault) && put(value, cursor.at());
  }

  /// Takes a block of numbers of one byte each.
  bool take_bytes() noexcept {
    if (left < kBlock) return false;
    // A copy, because the compiler must assume that the stores below change what `at` points to.
    std::array<std::uint8_t, kBlock> bytes;
    std::memcpy(bytes.data(), at, kBlock);
    for (std::size_t i = 0; i < kBlock; ++i) {
      const auto value = static_cast<T>(bytes[i]);
      std::memcpy(to + i * sizeof(T), &value, sizeof(T));
    }
    at += kBlock;
    to += kBlock * sizeof(T);
    left -= kBlock;
    return true;
  }

  /// Takes the numbers that end at `ends` in the block at `at`.
  bool take_each(std::uint64_t ends) noexcept {
    const std::byte* const block = at;
    for (; ends != 0; ends &= ends - 1) {
      const std::byte* const behind = block + std::countr_zero(ends) + 1;
      const auto bytes = static_cast<std::size_t>(behind - at);
      if (bytes > kVarintBytes) return false;
      std::uint64_t value = load_le<std::uint64_t>(at) & ~kHighBits;
      if (bytes < 8) value &= ~std::uint64_t{0} >> (64 - 8 * bytes);
      value = (value & 0x007F007F007F007F) | (value & 0x7F007F007F007F00) >> 1;
      value = (value & 0x00003FFF00003FFF) | (value & 0x3FFF00003FFF0000) >> 2;
      value = (value & 0x000000000FFFFFFF) | (value & 0x0FFFFFFF00000000) >> 4;
      if (bytes > 8) {
        value |= std::to_integer<std::uint64_t>(at[8] & std::byte{0x7F}) << 56;
        value |= (std::to_integer<std::uint64_t>(at[9]) & std::uint64_t{bytes > 9}) << 63;
      }
      if (!put(value, behind)) return false;
    }
    return true;
  }

#ifdef DOVETAIL_SHUFFLED
  /// Writes the numbers of the block at `at` that end at `ends` and have up to four bytes each.
  /// Returns false if a number does not fit. Without `kWide`, nothing is written behind the last
  /// number.
  template <bool kWide>
  DOVETAIL_SHUFFLED bool write_short(std::uint64_t ends) noexcept {
    const auto bytes = static_cast<std::size_t>(std::bit_width(ends));
    // Local copies: the compiler must assume that the stores below change members.
    const std::byte* const block = at;
    std::byte* out = to;
    std::uint64_t room = left;
    using Numbers [[gnu::vector_size(kWindow * sizeof(T))]] = T;
    Words largest{};
    // A number begins at the block, so the bytes before the block do not matter.
    std::uint64_t eight = std::uint64_t{load_le<std::uint32_t>(block)} << (8 * kWindow);
    std::uint64_t window_ends = (ends << kBefore | 1 << (kBefore - 1)) & (kPlaces.size() - 1);
    ends >>= kWindow - kBefore;
    for (std::size_t i = 0;;) {
      const Words words = take_window(eight, window_ends);
      if constexpr (sizeof(T) < 4) largest |= words;
      const auto numbers = __builtin_convertvector(words, Numbers);
      const auto count = static_cast<std::size_t>(__builtin_popcountll(window_ends >> kBefore));
      if (kWide || room >= kWindow) {
        std::memcpy(out, &numbers, sizeof(numbers));
      } else {
        std::memcpy(out, &numbers, count * sizeof(T));
      }
      out += count * sizeof(T);
      if constexpr (!kWide) room -= count;
      if ((i += kWindow) >= bytes) break;
      eight = load_le<std::uint64_t>(block + i - kWindow);
      window_ends = ends & (kPlaces.size() - 1);
      ends >>= kWindow;
    }
    at += bytes;
    left -= static_cast<std::uint64_t>(out - to) / sizeof(T);
    to = out;
    // The OR of all numbers suffices instead of the largest, because all limits are powers of 2.
    return sizeof(T) >= 4 || fits<T>(largest[0] | largest[1] | largest[2] | largest[3]);
  }

  DOVETAIL_SHUFFLED bool take_short(std::uint64_t ends) noexcept {
    const auto count = static_cast<std::uint64_t>(__builtin_popcountll(ends));
    if (count > left) return false;
    return left - count >= kWindow ? write_short<true>(ends) : write_short<false>(ends);
  }
#else
  bool take_short(std::uint64_t ends) noexcept {
    return take_each(ends);
  }
#endif

  /// Takes numbers as far as the wide way goes. Returns whether it took any.
  bool take_wide() noexcept {
    const std::byte* const before = at;
    if constexpr (sizeof(T) >= 4) {
      const VarintPlace place = sizeof(T) == 4 ? take_wide_4({at, to, left}, end) : take_wide_8({at, to, left}, end);
      at = place.at;
      to = place.to;
      left = place.left;
    }
    return at != before;
  }

  /// Takes the numbers of all blocks that begin before the end, as long as `kBehindBlock` bytes
  /// before `room_end` follow the block.
  bool take_blocks(const std::byte* room_end) noexcept {
    while (at < end && static_cast<std::size_t>(room_end - at) >= kBlock + kBehindBlock) {
      std::uint64_t ends = ends_in(at);
      const auto there = static_cast<std::size_t>(end - at);
      if (there < kBlock) ends &= (std::uint64_t{1} << there) - 1;
      if (ends == 0) return false;  // cut off, or longer than any varint
      if (ends == ~std::uint64_t{0}) {
        if (!take_bytes()) return false;
        continue;
      }
      const std::uint64_t shorts = way != UnpackWay::portable ? before_long(ends) : 0;
      if (shorts != 0 && way == UnpackWay::wide && take_wide()) continue;
      if (shorts != 0 ? !take_short(shorts) : !take_each(ends)) return false;
    }
    return true;
  }

  bool take_all() noexcept {
    if (!take_blocks(end)) return false;
    if (end - at > kFewBytes) return take_rest();
    while (at < end) {
      if (!take_one()) return false;
    }
    return true;
  }

  /// Takes the last bytes in blocks, too, from a copy with room behind it.
  bool take_rest() noexcept {
    std::array<std::byte, kSpareBytes> spare{};
    const auto rest = static_cast<std::size_t>(end - at);
    std::memcpy(spare.data(), at, rest);
    at = spare.data();
    end = at + rest;
    return take_blocks(at + spare.size());
  }
};

/// Writes up to `count` numbers. Returns how many of `count` were missing.
template <class T>
std::optional<std::uint64_t> unpack(ByteView packed, std::byte* to, std::uint64_t count, UnpackWay way) noexcept {
  Unpacking<T> unpacking{way, packed.data(), packed.data() + packed.size(), to, count};
  if (!unpacking.take_all()) return std::nullopt;
  return unpacking.left;
}

std::optional<std::uint64_t> unpack(ByteView packed, Dtype dtype, std::byte* to, std::uint64_t count,
                                    UnpackWay way) noexcept {
  switch (dtype) {
    case Dtype::u8:
      return unpack<std::uint8_t>(packed, to, count, way);
    case Dtype::i8:
      return unpack<std::int8_t>(packed, to, count, way);
    case Dtype::u16:
      return unpack<std::uint16_t>(packed, to, count, way);
    case Dtype::i16:
      return unpack<std::int16_t>(packed, to, count, way);
    case Dtype::u32:
      return unpack<std::uint32_t>(packed, to, count, way);
    case Dtype::i32:
      return unpack<std::int32_t>(packed, to, count, way);
    case Dtype::u64:
      return unpack<std::uint64_t>(packed, to, count, way);
    default:
      return unpack<std::int64_t>(packed, to, count, way);
  }
}

}  // namespace

std::optional<std::uint64_t> count_packed_ints(ByteView packed) noexcept {
  // The last is: bytes of the number that has not ended yet.
  auto [count, i, open] = kBestWay == UnpackWay::wide && packed.size() >= kBlock ? count_wide(packed) : VarintCount();
  for (; packed.size() - i >= kBlock; i += kBlock) {
    const std::uint64_t ends = ends_in(packed.data() + i);
    const auto first = static_cast<std::size_t>(std::countr_zero(ends));
    if (open + first >= kVarintBytes || has_ten(~ends)) return std::nullopt;
    count += static_cast<std::uint64_t>(std::popcount(ends));
    open = static_cast<std::size_t>(std::countl_zero(ends));
  }
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

std::span<const UnpackWay> unpack_ways() noexcept {
  static constexpr std::array kWays = {UnpackWay::portable, UnpackWay::shuffled, UnpackWay::wide};
  return std::span(kWays).first(static_cast<std::size_t>(kBestWay) + 1);
}

std::optional<std::uint64_t> unpack_all_ints(ByteView packed, Dtype dtype, std::byte* to, UnpackWay way) noexcept {
  const auto missing = unpack(packed, dtype, to, packed.size(), way);
  if (!missing) return std::nullopt;
  return packed.size() - *missing;
}

std::optional<std::uint64_t> unpack_all_ints(ByteView packed, Dtype dtype, std::byte* to) noexcept {
  return unpack_all_ints(packed, dtype, to, kBestWay);
}

bool unpack_ints(ByteView packed, Dtype dtype, std::byte* to, std::uint64_t count, UnpackWay way) noexcept {
  return unpack(packed, dtype, to, count, way) == 0u;
}

bool unpack_ints(ByteView packed, Dtype dtype, std::byte* to, std::uint64_t count) noexcept {
  return unpack_ints(packed, dtype, to, count, kBestWay);
}

}  // namespace dovetail::format
