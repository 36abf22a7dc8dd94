// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/source_options.h>

namespace dovetail::detail {

/// Why a path below a folder is left out: the count of `LeftOut` that it belongs to; null if it is
/// part of the source. A folder that is left out is not entered.
using LeaveReason = std::uint64_t LeftOut::*;
LeaveReason reason_to_leave(std::string_view relative, bool is_folder, const SourceOptions& options);

/// Removes the patterns that match the path, or a folder above it.
void drop_matching(std::vector<std::string>& patterns, std::string_view relative);

}  // namespace dovetail::detail
