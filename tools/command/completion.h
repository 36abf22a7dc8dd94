// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tools/command/command_spec.h"

namespace dovetail::tools {

// Scripts for each shell that complete subcommands, flags, values of flags, and paths.
std::string bash_completion(const ProgramSpec& program);
std::string zsh_completion(const ProgramSpec& program);
std::string fish_completion(const ProgramSpec& program);

}  // namespace dovetail::tools
