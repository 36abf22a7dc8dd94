// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/source_options.h>

namespace dovetail::detail {

/// Of what lies at a path below a folder: the count of `LeftOut` that it goes to, which is null where it is a part of
/// the source. Of a folder that is none, nothing is.
using LeaveReason = std::uint64_t LeftOut::*;
LeaveReason reason_to_leave(std::string_view relative, bool is_folder, const SourceOptions& options);

/// Removes the patterns that match what lies at the path, itself or by a folder on the way to it.
void drop_matching(std::vector<std::string>& patterns, std::string_view relative);

}  // namespace dovetail::detail
