// SPDX-License-Identifier: Apache-2.0
// `dovetail man`: pages for man(1), and `dovetail help`: what `--help` prints.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "format/try.h"
#include "tools/command/commands.h"
#include "tools/command/man_page.h"
#include "tools/command/messages.h"
#include "tools/command/sink.h"
#include "tools/command/text_file.h"

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
  DOVETAIL_TRY(write("", man_page(program)));
  for (const CommandSpec& command : program.commands) {
    DOVETAIL_TRY(write(command.name, man_page(program, command)));
  }
  return kExitGood;
}

Result<int> run(const CommandLine& line, const ManArguments& arguments) {
  const ProgramSpec program = line.describe();
  if (arguments.folder) return write_all(program, *arguments.folder);
  const auto found = std::find_if(program.commands.begin(), program.commands.end(),
                                  [&](const CommandSpec& command) { return command.name == arguments.command; });
  return print(found == program.commands.end() ? man_page(program) : man_page(program, *found));
}

Result<int> run_help(const CommandLine& line, const std::string& command) {
  return print(line.help(command));
}

std::vector<std::string> all_names(const CommandLine& line) {
  std::vector<std::string> names;
  for (const CommandSpec& command : line.describe().commands) names.push_back(command.name);
  for (const char* own : {"man", "help"}) {
    if (std::find(names.begin(), names.end(), own) == names.end()) names.emplace_back(own);
  }
  return names;
}

}  // namespace

void add_man(CommandLine& line) {
  const auto arguments = std::make_shared<ManArguments>();
  const std::vector<std::string> names = all_names(line);
  Flags flags = line.subcommand("man", "Print a manual page, to be viewed with `man -l -`",
                                {"dovetail man inspect > dovetail-inspect.1", "dovetail man --all man1"},
                                [&line, arguments] { return run(line, *arguments); });
  const Flag all =
      flags.add("--all", arguments->folder, "Write the pages of all subcommands into a folder").shown_as("DIR");
  flags.add_word("SUBCOMMAND", arguments->command, names, "Subcommand of the page; default: the whole command")
      .excludes(all);
}

void add_help(CommandLine& line) {
  const auto command = std::make_shared<std::string>();
  Flags flags = line.subcommand("help", "Print what --help prints", {"dovetail help", "dovetail help convert"},
                                [&line, command] { return run_help(line, *command); });
  flags.add_word("SUBCOMMAND", *command, all_names(line), "Subcommand to explain; default: the whole command");
}

}  // namespace dovetail::tools
