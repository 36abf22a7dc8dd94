// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tools/command/command_spec.h"

namespace dovetail::tools {

// Completion scripts for subcommands, flags, the words of a flag, and paths, one per shell.
std::string bash_completion(const ProgramSpec& program);
std::string zsh_completion(const ProgramSpec& program);
std::string fish_completion(const ProgramSpec& program);

}  // namespace dovetail::tools
