// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace dovetail::detail {

/// The path of `name`, which is relative to `folder`. An empty folder is the current folder.
inline std::string join_path(std::string_view folder, std::string_view name) {
  if (folder.empty() || name.starts_with('/')) return std::string(name);
  if (name.empty()) return std::string(folder);
  std::string path(folder);
  if (path.back() != '/') path += '/';
  return path += name;
}

/// The folder of a file; empty for the current folder.
inline std::string folder_of(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string_view::npos) return {};
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

inline std::string name_of(std::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));  // without a slash, npos + 1 is 0
}

}  // namespace dovetail::detail
