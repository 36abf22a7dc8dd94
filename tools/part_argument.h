// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <dovetail/convert.h>
#include <dovetail/error.h>

namespace dovetail::tools {

/// Parses I/N, or takes rank and world from the launcher for `auto`.
Result<ConvertPart> parse_part(std::string_view text);

}  // namespace dovetail::tools
