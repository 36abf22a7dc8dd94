// SPDX-License-Identifier: Apache-2.0
#include "format/text/count_of.h"

namespace dovetail::format {

std::string count_of(std::uint64_t count, std::string_view noun, std::string_view plural) {
  std::string text = std::to_string(count) + ' ';
  if (count == 1) return text.append(noun);
  return plural.empty() ? text.append(noun) + 's' : text.append(plural);
}

}  // namespace dovetail::format
