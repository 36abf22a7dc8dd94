// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tools/command/command_spec.h"

namespace dovetail::tools {

// Pages for man(1), as groff `man` macros. The same specification gives the same bytes.

/// dovetail(1): the subcommands.
std::string man_page(const ProgramSpec& program);
/// dovetail-SUBCOMMAND(1).
std::string man_page(const ProgramSpec& program, const CommandSpec& command);
/// "dovetail-inspect.1"; for an empty name, the page of the program itself.
std::string man_file_name(const ProgramSpec& program, std::string_view command);

}  // namespace dovetail::tools
