// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include <dovetail/error.h>

namespace dovetail::detail {

/// The content of a folder, unordered.
struct FolderNames {
  std::vector<std::string> names;
  std::uint64_t hidden = 0;  ///< Number of further names that begin with a dot.
  /// A name that shows a running or stopped writer: a file of a conversion, or else the lock of
  /// another writer, or else the first partial file. Empty if there is none.
  std::string unfinished;
};

/// Errors: the system's. (The iterators of the standard library terminate the process if memory is
///         short.)
Result<FolderNames> names_in(const std::string& folder);

/// The status of a path's target, or of a link itself if `follow` is false. Errors: the system's.
Result<struct stat> status_of(const std::string& path, bool follow);

/// Errors: the path is a dangling link, so a file of the source was not fetched. A missing path is
///         not an error.
Result<void> check_no_dangling_link(const std::string& path);

}  // namespace dovetail::detail
