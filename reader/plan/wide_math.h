// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include <dovetail/identity.h>

namespace dovetail::detail {

/// The only place that names the compiler's 128-bit integer type.
__extension__ using Uint128 = unsigned __int128;

constexpr std::uint64_t low_half(Uint128 value) noexcept {
  return static_cast<std::uint64_t>(value);
}
constexpr std::uint64_t high_half(Uint128 value) noexcept {
  return static_cast<std::uint64_t>(value >> 64);
}

/// The high 64 bits of word * n: a number below `n`, almost uniform if `word` is uniform.
constexpr std::uint64_t scale_below(std::uint64_t word, std::uint64_t n) noexcept {
  return high_half(Uint128{word} * n);
}

/// floor(a * b / divisor). Needs: the result is below 2^64.
constexpr std::uint64_t multiply_divide(std::uint64_t a, std::uint64_t b, std::uint64_t divisor) noexcept {
  return low_half(Uint128{a} * b / divisor);
}

/// a * b modulo `modulus`.
constexpr std::uint64_t multiply_modulo(std::uint64_t a, std::uint64_t b, std::uint64_t modulus) noexcept {
  const Uint128 product = Uint128{a} * b;
  return high_half(product) == 0 ? low_half(product) % modulus : low_half(product % modulus);
}

/// Whether a * b is at least 2^64.
constexpr bool product_overflows(std::uint64_t a, std::uint64_t b) noexcept {
  return high_half(Uint128{a} * b) != 0;
}

/// a + b, or the largest number if the sum overflows.
constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) noexcept {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}

/// a / divisor, rounded up; never overflows.
constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t divisor) noexcept {
  return a / divisor + (a % divisor != 0 ? 1 : 0);
}

/// The smallest number whose square is at least `n`. Needs: `n` below 2^62.
constexpr std::uint64_t square_root_up(std::uint64_t n) noexcept {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1) {
    const std::uint64_t candidate = root | bit;
    if (candidate * candidate <= n) root = candidate;
  }
  return root * root < n ? root + 1 : root;
}

/// a * b modulo 2^128.
constexpr Hash128 multiply(Hash128 a, Hash128 b) noexcept {
  const Uint128 low = Uint128{a.low} * b.low;
  return {high_half(low) + a.high * b.low + a.low * b.high, low_half(low)};
}

}  // namespace dovetail::detail
