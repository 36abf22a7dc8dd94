// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace dovetail::format {

/// Returns a text as one word of a POSIX shell, in quotes if it needs them.
std::string shell_quoted(std::string_view text);
/// The same for a path, which is never taken for a flag.
std::string shell_path(const std::string& path);

}  // namespace dovetail::format
