// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tools/command/command_spec.h"

namespace dovetail::tools {

// Scripts that complete subcommands, flags, the words that a flag takes, and paths, each in the language of a shell.
std::string bash_completion(const ProgramSpec& program);
std::string zsh_completion(const ProgramSpec& program);
std::string fish_completion(const ProgramSpec& program);

}  // namespace dovetail::tools
