// SPDX-License-Identifier: Apache-2.0
#include "sources/left_out.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "format/text/lower_case.h"
#include "format/text/wildcard.h"

namespace dovetail::detail {

namespace {

// Names that Windows or macOS creates in folders that it shows or packs, a NAS beside pictures, and
// a file system in its root.
bool is_litter(std::string_view name) {
  constexpr std::array<std::string_view, 8> kNames = {
      "thumbs.db", "ehthumbs.db", "desktop.ini", "__macosx", "@eadir", "$recycle.bin", "system volume information",
      "lost+found"};
  const std::string lower = format::lower_case(name);
  return std::find(kNames.begin(), kNames.end(), lower) != kNames.end();
}

// Returns whether the pattern matches the path or a folder above it.
bool is_named_by(std::string_view pattern, std::string_view relative) {
  if (pattern.ends_with('/')) pattern.remove_suffix(1);
  const bool by_name = pattern.find('/') == std::string_view::npos;
  while (pattern.starts_with("./")) pattern.remove_prefix(2);
  for (std::size_t begin = 0; begin <= relative.size();) {
    const std::size_t end = std::min(relative.find('/', begin), relative.size());
    const std::size_t from = by_name ? begin : 0;
    if (format::matches(relative.substr(from, end - from), pattern)) return true;
    begin = end + 1;
  }
  return false;
}

bool is_named_by(const std::vector<std::string>& patterns, std::string_view relative) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [relative](const std::string& pattern) { return is_named_by(pattern, relative); });
}

}  // namespace

LeaveReason reason_to_leave(std::string_view relative, bool is_folder, const SourceOptions& options) {
  const std::size_t slash = relative.rfind('/');
  if (is_litter(relative.substr(slash == std::string_view::npos ? 0 : slash + 1))) return &LeftOut::litter;
  if (is_named_by(options.exclude, relative)) return &LeftOut::excluded;
  if (is_folder) return nullptr;
  if (options.labels && slash == std::string_view::npos) return &LeftOut::unlabelled;
  if (!options.include.empty() && !is_named_by(options.include, relative)) return &LeftOut::excluded;
  return nullptr;
}

void drop_matching(std::vector<std::string>& patterns, std::string_view relative) {
  std::erase_if(patterns, [relative](const std::string& pattern) { return is_named_by(pattern, relative); });
}

}  // namespace dovetail::detail
