// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tools/command/command_spec.h"

namespace dovetail::tools {

/// The output of `--help`, for a subcommand or, if it is null, for the whole program.
std::string help_text(const ProgramSpec& program, const CommandSpec* command);

}  // namespace dovetail::tools
