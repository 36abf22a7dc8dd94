// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tools/command/command_spec.h"

namespace dovetail::tools {

// Pages for man(1), in the language of groff's `man` macros. The same specification gives the same bytes.

/// dovetail(1): the subcommands.
std::string man_page(const ProgramSpec& program);
/// dovetail-SUBCOMMAND(1).
std::string man_page(const ProgramSpec& program, const CommandSpec& command);
/// "dovetail-inspect.1"; that of the program itself for an empty name.
std::string man_file_name(const ProgramSpec& program, std::string_view command);

}  // namespace dovetail::tools
