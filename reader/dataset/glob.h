// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dovetail/error.h>

namespace dovetail::detail {

/// A pattern, in quotes, for the shards of one folder, whatever characters are in its name.
std::string shard_pattern(std::string_view folder);

/// What a pattern stands for.
struct GlobMatches {
  std::string folder;              ///< The components before the first with a wildcard; may be empty.
  std::vector<std::string> files;  ///< Relative to `folder`, in bytewise order; no folders that are known to be ones.
};

/// Finds the files that match a pattern. Its components are matched one by one, so no wildcard matches a
/// `/`; none matches the folder of a dataset that is being written.
/// Errors: the system's, for a folder that cannot be listed.
Result<GlobMatches> expand_glob(const std::string& pattern);

}  // namespace dovetail::detail
