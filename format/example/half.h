// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace dovetail::format {

/// Rounds to the nearest IEEE 754 binary16 number, ties to even. Numbers that are too large become
/// infinite. Written by hand because GCC 12 and clang 14 do not have the type on every machine.
constexpr std::uint16_t to_half(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<std::uint16_t>(sign | 0x7E00 | (magnitude >> 13 & 0x3FF));
  if (magnitude >= 0x47800000) return static_cast<std::uint16_t>(sign | 0x7C00);  // 65536 and more
  std::uint32_t kept = 0;
  std::uint32_t lost = 0;
  std::uint32_t lost_bits = 13;
  if (magnitude >= 0x38800000) {  // 2^-14, the least normal number
    kept = (magnitude - 0x38000000) >> 13;
    lost = magnitude & 0x1FFF;
  } else {
    const std::uint32_t exponent = magnitude >> 23;
    if (exponent < 102) return static_cast<std::uint16_t>(sign);  // below half of the least subnormal
    const std::uint32_t significand = (magnitude & 0x7FFFFF) | 0x800000;
    lost_bits = 126 - exponent;
    kept = significand >> lost_bits;
    lost = significand & ((1u << lost_bits) - 1);
  }
  const std::uint32_t middle = 1u << (lost_bits - 1);
  // A carry out of the significand correctly increments the exponent, and makes the largest
  // exponent infinity.
  if (lost > middle || (lost == middle && (kept & 1) != 0)) ++kept;
  return static_cast<std::uint16_t>(sign | kept);
}

/// Returns the value of IEEE 754 half bits. A float holds every half exactly.
inline float from_half(std::uint16_t bits) noexcept {
  const int exponent = bits >> 10 & 0x1F;
  const int fraction = bits & 0x3FF;
  float value = 0;
  if (exponent == 0x1F) {
    value = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    value = std::ldexp(static_cast<float>(fraction | 0x400), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

}  // namespace dovetail::format
