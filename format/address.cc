// SPDX-License-Identifier: Apache-2.0
#include "format/address.h"

#include <algorithm>
#include <cstddef>

namespace dovetail::format {

bool is_address(std::string_view path) {
  const std::size_t colon = path.find("://");
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view scheme = path.substr(0, colon);
  return std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
           c == '.';
  });
}

}  // namespace dovetail::format
