// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace dovetail::detail {

/// The number that the bits of an IEEE 754 half stand for: every one is a float as well.
inline float half_to_float(std::uint16_t bits) noexcept {
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

}  // namespace dovetail::detail
