// SPDX-License-Identifier: Apache-2.0
// Numbers as text, the same in every locale.
#pragma once

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace dovetail::format {

/// Parses a whole text as `std::from_chars` does. Empty if it is not a number in range.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  return failure == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

/// Returns at least `digits` digits, with zeros in front.
inline std::string padded(std::uint64_t value, std::size_t digits) {
  std::string text = std::to_string(value);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

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
