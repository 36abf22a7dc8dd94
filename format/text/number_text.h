// SPDX-License-Identifier: Apache-2.0
// Numbers as text, the same in every locale.
#pragma once

#include <array>
#include <charconv>
#include <chrono>
#include <string>

namespace dovetail::format {

/// Returns the fewest digits that read back as the same number.
template <class Number>
std::string shortest(Number value) {
  std::array<char, 64> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

/// Returns `value` with `digits` digits behind the point. Needs: `digits` is up to 9.
inline std::string fixed(double value, int digits) {
  std::array<char, 336> buffer;  // for the largest number
  return {buffer.data(),
          std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, digits).ptr};
}

/// Returns seconds with six digits behind the point.
inline std::string in_seconds(std::chrono::nanoseconds time) {
  return fixed(std::chrono::duration<double>(time).count(), 6);
}

}  // namespace dovetail::format
