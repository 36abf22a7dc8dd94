// SPDX-License-Identifier: Apache-2.0
// The subcommands.
#pragma once

#include "tools/command/command_line.h"

namespace dovetail::tools {

void add_convert(CommandLine& line);
void add_index(CommandLine& line);
void add_merge(CommandLine& line);
void add_inspect(CommandLine& line);
void add_bench(CommandLine& line);
void add_cat(CommandLine& line);
void add_verify(CommandLine& line);
void add_recover(CommandLine& line);
void add_plan(CommandLine& line);
void add_read(CommandLine& line);
void add_show(CommandLine& line);
void add_stats(CommandLine& line);
void add_completion(CommandLine& line);
/// These two come last: they list all subcommands, including themselves.
void add_man(CommandLine& line);
void add_help(CommandLine& line);

}  // namespace dovetail::tools
