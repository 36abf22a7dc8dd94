// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tools/command/command_spec.h"

namespace dovetail::tools {

// Pages for man(1), in groff `man` macros. The same specification always gives the same bytes.

/// The page dovetail(1), with the subcommands.
std::string man_page(const ProgramSpec& program);
/// The page dovetail-SUBCOMMAND(1).
std::string man_page(const ProgramSpec& program, const CommandSpec& command);
/// For example "dovetail-inspect.1". An empty `command` means the page of the program itself.
std::string man_file_name(const ProgramSpec& program, std::string_view command);

}  // namespace dovetail::tools
