// SPDX-License-Identifier: Apache-2.0
// `dovetail man`: pages for man(1).
#include <algorithm>
#include <filesystem>
#include <memory>

#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/man_page.h"
#include "tools/sink.h"
#include "tools/text_file.h"

namespace dovetail::tools {

namespace {

struct ManArguments {
  std::string command;
  std::optional<std::string> folder;
};

Result<int> write_all(const ProgramSpec& program, const std::string& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) return Error::from_errno(failure.value()).in_file(folder);
  const auto write = [&](std::string_view command, const std::string& page) {
    return replace_text(folder + '/' + man_file_name(program, command), page);
  };
  if (Result<void> written = write("", man_page(program)); !written) return written.error();
  for (const CommandSpec& command : program.commands) {
    if (Result<void> written = write(command.name, man_page(program, command)); !written) return written.error();
  }
  return kExitGood;
}

Result<int> run(const CommandLine& line, const ManArguments& arguments) {
  const ProgramSpec program = line.describe();
  if (arguments.folder) return write_all(program, *arguments.folder);
  Sink out = Sink::standard_output();
  const auto found = std::find_if(program.commands.begin(), program.commands.end(),
                                  [&](const CommandSpec& command) { return command.name == arguments.command; });
  out.write(found == program.commands.end() ? man_page(program) : man_page(program, *found));
  if (const Result<void> written = out.finish(); !written) return written.error();
  return kExitGood;
}

}  // namespace

void add_man(CommandLine& line) {
  const auto arguments = std::make_shared<ManArguments>();
  std::vector<std::string> names;
  for (const CommandSpec& command : line.describe().commands) names.push_back(command.name);
  names.emplace_back("man");
  Flags flags = line.subcommand("man", "Print a manual page, to be shown by `man -l -`",
                                [&line, arguments] { return run(line, *arguments); });
  const Flag all =
      flags.add("--all", arguments->folder, "Write the pages of all subcommands into a folder").shown_as("DIR");
  flags.add_word("SUBCOMMAND", arguments->command, names, "Whose page; that of the whole where not given")
      .excludes(all);
}

}  // namespace dovetail::tools
