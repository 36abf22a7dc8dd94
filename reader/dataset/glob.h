// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dovetail/error.h>

namespace dovetail::detail {

/// A quoted pattern that matches the shards of one folder, for any characters in its name.
std::string shard_pattern(std::string_view folder);

/// The files that a pattern matches.
struct GlobMatches {
  /// The components before the first one with a wildcard; may be empty.
  std::string folder;
  /// Relative to `folder`, in bytewise order. No folders, as far as that is known.
  std::vector<std::string> files;
};

/// Finds the files that match a pattern. Components are matched one by one, so no wildcard matches
/// a `/`. None matches the folder of a dataset that is being written.
/// Errors: those of the system, if a folder cannot be listed.
Result<GlobMatches> expand_glob(const std::string& pattern);

}  // namespace dovetail::detail
