// SPDX-License-Identifier: Apache-2.0
// Numbers as text, the same in every locale.
#pragma once

#include <array>
#include <charconv>
#include <chrono>
#include <string>

namespace dovetail::format {

/// The fewest digits that give the number again.
template <class Number>
std::string shortest(Number value) {
  std::array<char, 64> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

/// With so many digits behind the point. Needs: up to 9 digits.
inline std::string fixed(double value, int digits) {
  std::array<char, 336> buffer;  // for the largest number
  return {buffer.data(),
          std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, digits).ptr};
}

/// Seconds, with six digits behind the point.
inline std::string in_seconds(std::chrono::nanoseconds time) {
  return fixed(std::chrono::duration<double>(time).count(), 6);
}

}  // namespace dovetail::format
