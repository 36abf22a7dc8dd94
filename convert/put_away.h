// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "writer/output_folder.h"

namespace dovetail::detail {

// What is left in the folder of a part when all else is removed.
inline constexpr char kLockName[] = "lock";
inline constexpr char kMergedName[] = ".merged";  // no split has such a name

/// Whether a folder lies where its path says, and not at the other end of a link.
bool is_no_link(const OutputFolder& folder);
/// Whether a name in it is that of a folder, and of no link to one.
bool is_folder(const OutputFolder& folder, const std::string& name);

/// Renames a part's folder that holds nothing but the above to `.dovetail-removed-NAME`, so that it is no part any more, whatever is
/// removed from it. Gives its path, or nothing where it kept its name.
std::optional<std::string> put_away(const std::string& path, const std::string& name);

/// Removes such folders where a process that was killed has left them, as far as they hold nothing else. `names` are those in the
/// target. Needs: the lock of the target.
void sweep_away(const OutputFolder& target, const std::vector<std::string>& names);

}  // namespace dovetail::detail
