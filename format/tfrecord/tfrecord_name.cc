// SPDX-License-Identifier: Apache-2.0
#include "format/tfrecord/tfrecord_name.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "format/text/lower_case.h"

namespace dovetail::format {

namespace {

// Cuts `-NNNNN-of-NNNNN` off the end of a name. Returns whether it was there.
bool cut_shard_suffix(std::string_view& name) {
  constexpr std::string_view kPattern = "-00000-of-00000";
  if (name.size() < kPattern.size()) return false;
  const std::string_view end = name.substr(name.size() - kPattern.size());
  const bool fits = std::equal(end.begin(), end.end(), kPattern.begin(), [](char c, char pattern) {
    return pattern == '0' ? c >= '0' && c <= '9' : c == pattern;
  });
  if (fits) name.remove_suffix(kPattern.size());
  return fits;
}

}  // namespace

bool has_tfrecord_name(std::string_view path) {
  const std::string lower = lower_case(path.substr(path.find_last_of('/') + 1));
  std::string_view name = lower;
  for (const std::string_view suffix : {".gz", ".gzip", ".zlib", ".zz", ".snappy", ".zst", ".bz2", ".xz"}) {
    if (!name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    break;
  }
  if (const std::size_t dot = name.find_last_of('.'); dot != std::string_view::npos) {
    const std::string_view numbered = name.substr(dot + 1);
    const std::string_view extension = numbered.substr(0, numbered.find('-'));
    for (const std::string_view known : {"tfrecord", "tfrecords", "tfrec", "tfr"}) {
      if (extension == known) return true;
    }
  }
  return cut_shard_suffix(name) && !name.empty();
}

}  // namespace dovetail::format
