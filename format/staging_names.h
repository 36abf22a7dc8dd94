// SPDX-License-Identifier: Apache-2.0
// Names by which readers know a dataset that is being written.
#pragma once

#include <string_view>

namespace dovetail::format {

/// A dataset is written in a folder of the target's name with this suffix.
inline constexpr std::string_view kStagingSuffix = ".partial";
/// A dataset that is replaced gets this suffix for a moment, where folders cannot be exchanged.
inline constexpr std::string_view kReplacedSuffix = ".replaced";
/// There while a folder is staged. What parts of a conversion keep there begins with the prefix.
inline constexpr char kStagingLock[] = ".dovetail-lock";
inline constexpr char kPartPrefix[] = ".dovetail-part-";

/// Whether a folder with this name in it, and without a manifest, is unfinished.
constexpr bool marks_staging(std::string_view name) noexcept {
  return name == kStagingLock || name.starts_with(kPartPrefix);
}

/// The target of a folder that is staged; other paths as they are.
constexpr std::string_view target_of_staging(std::string_view path) noexcept {
  return path.ends_with(kStagingSuffix) ? path.substr(0, path.size() - kStagingSuffix.size()) : path;
}

}  // namespace dovetail::format
