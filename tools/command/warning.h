// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace dovetail::tools {

/// Prints `dovetail: warning: ...` on standard error, in one line.
void warn(std::string_view text);

}  // namespace dovetail::tools
