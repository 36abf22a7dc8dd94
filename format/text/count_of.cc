// SPDX-License-Identifier: Apache-2.0
#include "format/text/count_of.h"

#include <array>
#include <cstddef>

#include "format/text/number_text.h"

namespace dovetail::format {

std::string count_of(std::uint64_t count, std::string_view noun, std::string_view plural) {
  std::string text = std::to_string(count) + ' ';
  if (count == 1) return text.append(noun);
  return plural.empty() ? text.append(noun) + 's' : text.append(plural);
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fixed(value, 1) + ' ' + kUnits[unit];
}

}  // namespace dovetail::format
