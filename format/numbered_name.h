// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dovetail::format {

/// A path with one `#` for each number in the name of the file, and without a compression: files of one set differ in these
/// only.
inline std::string set_name(std::string_view path) {
  for (const std::string_view packing : {".gz", ".gzip", ".zlib", ".zz", ".zst", ".bz2", ".xz"}) {
    if (!path.ends_with(packing)) continue;
    path.remove_suffix(packing.size());
    break;
  }
  const std::size_t base = path.find_last_of('/') + 1;  // 0 where there is none
  std::string set(path.substr(0, base));
  for (const char c : path.substr(base)) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) set += c;
    if (digit && !set.ends_with('#')) set += '#';
  }
  return set;
}

}  // namespace dovetail::format
