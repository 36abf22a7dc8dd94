// SPDX-License-Identifier: Apache-2.0
#include "format/example/wide_varints.h"

#include <algorithm>
#include <array>
#include <bit>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define DOVETAIL_WIDE_VARINTS [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,lzcnt,popcnt")]]

#if !defined(__clang__)
// GCC's own header leaves operands uninitialized where no bit of a mask needs them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace dovetail::format {
namespace {

constexpr std::size_t kVectorBytes = 64;
// Bytes that a vector has from the one before, because a number that ends here may begin there. So
// no vector waits until the numbers of the one before are found.
constexpr std::ptrdiff_t kOldBytes = 3;
constexpr std::ptrdiff_t kNewBytes = kVectorBytes - kOldBytes;
constexpr std::uint64_t kOld = (std::uint64_t{1} << kOldBytes) - 1;
constexpr std::size_t kWords = kVectorBytes / 4;

/// A bit for each byte of a vector with up to `bytes` new ones.
std::uint64_t present(std::ptrdiff_t bytes) noexcept {
  return bytes >= kNewBytes ? ~std::uint64_t{0} : (std::uint64_t{1} << (bytes + kOldBytes)) - 1;
}

/// Joins the bits of the numbers that the words begin with.
DOVETAIL_WIDE_VARINTS inline __m512i join_bits(__m512i words) noexcept {
  // Keep the bytes up to the first one whose highest bit is not set.
  const __m512i ends = _mm512_andnot_si512(words, _mm512_set1_epi8('\x80'));
  const __m512i kept = _mm512_xor_si512(ends, _mm512_sub_epi32(ends, _mm512_set1_epi32(1)));
  const __m512i seven_bits = _mm512_and_si512(_mm512_and_si512(words, kept), _mm512_set1_epi8(0x7F));
  const __m512i pairs = _mm512_maddubs_epi16(_mm512_set1_epi16(static_cast<short>(0x8001)), seven_bits);  // 1, 128, ...
  return _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x40000001));  // 1, 128 * 128
}

template <std::size_t kBytes>
DOVETAIL_WIDE_VARINTS inline void store_words(std::byte* to, __m512i words, std::uint32_t which) noexcept {
  if constexpr (kBytes == 4) {
    _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(which), words);
  } else {
    const __m512i low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(words));
    const __m512i high = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(words, 1));
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(which), low);
    _mm512_mask_storeu_epi64(to + kVectorBytes, static_cast<__mmask8>(which >> 8), high);
  }
}

template <std::size_t kBytes>
DOVETAIL_WIDE_VARINTS inline VarintPlace take_wide(VarintPlace place, const std::byte* end) noexcept {
  alignas(kVectorBytes) constexpr auto kEach = [] {
    std::array<std::uint8_t, kVectorBytes> each{};
    for (std::size_t i = 0; i < each.size(); ++i) each[i] = static_cast<std::uint8_t>(i);
    return each;
  }();
  const __m512i each = _mm512_load_si512(kEach.data());
  const __m512i word_of_each = _mm512_and_si512(_mm512_srli_epi16(each, 2), _mm512_set1_epi8(0x0F));
  const __m512i byte_in_word = _mm512_set1_epi32(0x03020100);
  auto [at, to, left] = place;  // `at`: the first new byte
  __m512i bytes = _mm512_maskz_expandloadu_epi8(present(end - at) & ~kOld, at);
  for (;;) {
    const std::uint64_t more = _mm512_movepi8_mask(bytes);
    const std::uint64_t ends = ~more & present(end - at);
    const auto count = static_cast<std::uint64_t>(std::popcount(ends & ~kOld));
    const auto old_end = std::bit_width(ends & kOld);
    if ((more & more >> 1 & more >> 2 & more >> 3) != 0 || count > left) return {at + old_end - kOldBytes, to, left};
    // The places of the first bytes of the numbers that end in new bytes.
    const __m512i firsts = _mm512_maskz_compress_epi8((ends << 1 | 1) >> old_end << old_end, each);
    __m512i words = word_of_each;
    for (std::uint64_t i = 0; i < count; i += kWords) {
      const __m512i places = _mm512_add_epi8(_mm512_permutexvar_epi8(words, firsts), byte_in_word);
      const std::uint32_t which = (1U << std::min<std::uint64_t>(count - i, kWords)) - 1;
      store_words<kBytes>(to + i * kBytes, join_bits(_mm512_permutexvar_epi8(places, bytes)), which);
      words = _mm512_add_epi8(words, _mm512_set1_epi8(kWords));
    }
    to += count * kBytes;
    left -= count;
    if (end - at <= kNewBytes) return {at + std::bit_width(ends) - kOldBytes, to, left};
    at += kNewBytes;
    bytes = _mm512_maskz_loadu_epi8(present(end - at), at - kOldBytes);
  }
}

}  // namespace

bool can_take_wide() noexcept {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512vbmi") != 0 && __builtin_cpu_supports("avx512vbmi2") != 0 &&
         __builtin_cpu_supports("popcnt") != 0;
}

DOVETAIL_WIDE_VARINTS VarintCount count_wide(ByteView packed) noexcept {
  VarintCount counted;
  std::uint64_t before = 0;  // `more` of the vector before
  for (; packed.size() - counted.bytes >= kVectorBytes; counted.bytes += kVectorBytes) {
    const std::uint64_t more = _mm512_movepi8_mask(_mm512_loadu_si512(packed.data() + counted.bytes));
    if ((more & (more << 1 | before >> 63) & (more << 2 | before >> 62) & (more << 3 | before >> 61)) != 0) break;
    counted.varints += static_cast<std::uint64_t>(std::popcount(~more));
    before = more;
  }
  counted.open = static_cast<std::size_t>(std::countl_one(before));
  return counted;
}

DOVETAIL_WIDE_VARINTS VarintPlace take_wide_4(VarintPlace place, const std::byte* end) noexcept {
  return take_wide<4>(place, end);
}

DOVETAIL_WIDE_VARINTS VarintPlace take_wide_8(VarintPlace place, const std::byte* end) noexcept {
  return take_wide<8>(place, end);
}

}  // namespace dovetail::format

#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#else

namespace dovetail::format {

bool can_take_wide() noexcept {
  return false;
}

VarintCount count_wide(ByteView /*packed*/) noexcept {
  return {};
}

VarintPlace take_wide_4(VarintPlace place, const std::byte* /*end*/) noexcept {
  return place;
}

VarintPlace take_wide_8(VarintPlace place, const std::byte* /*end*/) noexcept {
  return place;
}

}  // namespace dovetail::format

#endif
