// SPDX-License-Identifier: Apache-2.0
// Names by which readers recognise a dataset that is being written.
#pragma once

#include <string_view>

namespace dovetail::format {

/// A dataset is written in a folder with the target's name and this suffix.
inline constexpr std::string_view kStagingSuffix = ".partial";
/// The old dataset has this suffix for a moment if the system cannot exchange two folders.
inline constexpr std::string_view kReplacedSuffix = ".replaced";
/// The lock file exists while a folder is staged. Files that the parts of a conversion keep there
/// begin with the prefix.
inline constexpr char kStagingLock[] = ".dovetail-lock";
inline constexpr char kPartPrefix[] = ".dovetail-part-";

/// A file is written under the name `.NAME.partial-PID-RANDOM`. In it, this comes before the unique
/// part.
inline constexpr std::string_view kPartialMark = ".partial-";

/// Returns whether a name or path is that of a partial file. Its writer is running or was killed.
constexpr bool is_partial_name(std::string_view path) noexcept {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with('.') && name.find(kPartialMark) != std::string_view::npos;
}

/// Returns the final name of a partial file, and other names unchanged. The middle of a long name
/// is missing.
constexpr std::string_view final_name(std::string_view name) noexcept {
  return is_partial_name(name) ? name.substr(1, name.rfind(kPartialMark) - 1) : name;
}

/// Returns whether a file of this name marks its folder as unfinished, if the folder has no
/// manifest.
constexpr bool marks_staging(std::string_view name) noexcept {
  return name == kStagingLock || name.starts_with(kPartPrefix);
}

/// Returns the target of a staging folder. Returns other paths unchanged.
constexpr std::string_view target_of_staging(std::string_view path) noexcept {
  return path.ends_with(kStagingSuffix) ? path.substr(0, path.size() - kStagingSuffix.size()) : path;
}

}  // namespace dovetail::format
