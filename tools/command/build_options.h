// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dovetail::tools {

/// For example "0.1.0".
std::string version();

/// The output of `--version`: name and version in the first line, then the build options, and the
/// code paths chosen on this machine.
std::string version_text();

}  // namespace dovetail::tools
