// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "format/text/lower_case.h"

namespace dovetail::format {

/// The suffixes of programs that compress a single file.
inline constexpr std::array<std::string_view, 14> kPackings = {
    ".gz", ".gzip", ".zlib", ".zz", ".zst", ".zstd", ".bz2", ".xz", ".lz4", ".lzma", ".zip", ".7z", ".br", ".snappy"};

/// Cuts a suffix of `kPackings` off, in capitals or not. Returns whether there was one.
inline bool cut_packing(std::string_view& name) {
  const std::size_t dot = name.find_last_of("./");
  if (dot == std::string_view::npos) return false;
  const std::string ending = lower_case(name.substr(dot));
  for (const std::string_view packing : kPackings) {
    if (ending != packing) continue;
    name = name.substr(0, dot);
    return true;
  }
  return false;
}

/// Returns a path with a `#` for each number in the file name, and without the suffix of a
/// compression. Files of one set have the same set name.
inline std::string set_name(std::string_view path) {
  cut_packing(path);
  const std::size_t base = path.find_last_of('/') + 1;  // 0 if there is no slash
  std::string set(path.substr(0, base));
  for (const char c : path.substr(base)) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) set += c;
    if (digit && !set.ends_with('#')) set += '#';
  }
  return set;
}

}  // namespace dovetail::format
