// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include <dovetail/error.h>

namespace dovetail::detail {

/// What is in a folder, in no order.
struct FolderNames {
  std::vector<std::string> names;
  std::uint64_t hidden = 0;  ///< How many more there are whose names begin with a dot.
  /// The first of those by which writers that are at work, or were stopped, tell that there is more to come: their partial files,
  /// and what conversions keep. Empty where there is none.
  std::string unfinished;
};

/// Errors: the system's. (The iterators of the standard library end the process where there is no memory.)
Result<FolderNames> names_in(const std::string& folder);

/// What a path leads to, or with `follow` false a link itself. Errors: the system's.
Result<struct stat> status_of(const std::string& path, bool follow);

/// An error where the path is a link that leads to no file: what goes with a source was not fetched. Nothing where there is
/// nothing.
Result<void> check_no_dangling_link(const std::string& path);

}  // namespace dovetail::detail
