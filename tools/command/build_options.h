// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dovetail::tools {

/// "0.1.0".
std::string version();

/// The answer to `--version`: name and version in the first line, then how this program was built and, for what is
/// chosen at run time, what it uses here.
std::string version_text();

}  // namespace dovetail::tools
