// SPDX-License-Identifier: Apache-2.0
// `dovetail man`: pages for man(1), in groff `man` macros, and `dovetail help`: what `--help` prints.
// The same specification always gives the same bytes.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/try.h"
#include "tools/command/commands.h"
#include "tools/command/messages.h"
#include "tools/command/sink.h"
#include "tools/command/text_file.h"

namespace dovetail::tools {

namespace {

/// Escapes text for groff, so that nothing in it is markup or a request.
std::string roff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (result.empty() && (c == '.' || c == '\'')) result += "\\&";
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      case '\n':
        result += ' ';
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string bold(std::string_view text) {
  return "\\fB" + roff(text) + "\\fR";
}

std::string italic(std::string_view text) {
  return "\\fI" + roff(text) + "\\fR";
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return result;
}

std::string page_name(const ProgramSpec& program, std::string_view command) {
  return command.empty() ? program.name : program.name + '-' + std::string(command);
}

/// Text is left-adjusted, because flags and their values must not be stretched. groff 1.23 adjusts
/// each list entry anew and needs the string. Older versions need the request.
std::string title(const ProgramSpec& program, std::string_view command, std::string_view summary) {
  return ".TH \"" + roff(upper(page_name(program, command))) + "\" 1 \"\" \"" + roff(program.name) + ' ' +
         roff(program.version) + "\" \"Dovetail\"\n.ds AD l\n.ad l\n.SH NAME\n" + roff(page_name(program, command)) +
         " \\- " + roff(summary) + '\n';
}

/// Allows a line break between two alternatives.
std::string value_text(const FlagSpec& flag) {
  if (flag.takes != FlagSpec::Takes::words) return italic(flag.value);
  std::string text;
  for (const std::string& word : flag.words) text += (text.empty() ? "" : "\\:|") + bold(word);
  return text;
}

std::string flag_text(const FlagSpec& flag) {
  std::string text = ".TP\n";
  if (flag.positional) {
    text += italic(flag.name) + (flag.many ? " ..." : "");
  } else {
    text += bold(flag.name) + (flag.takes == FlagSpec::Takes::nothing ? "" : " " + value_text(flag));
    if (flag.many) text += " ...";
  }
  text += '\n' + roff(flag.help) + ".\n";
  if (flag.positional && flag.takes == FlagSpec::Takes::words) text += "One of " + value_text(flag) + ".\n";
  if (!flag.preset.empty()) text += "The default is " + bold(flag.preset) + ".\n";
  if (flag.required && !flag.positional) text += "Required.\n";
  for (const std::string& other : flag.excludes) text += "Cannot be given with " + bold(other) + ".\n";
  return text;
}

std::string flags_text(const std::vector<FlagSpec>& flags) {
  std::string text;
  std::string group;
  for (const FlagSpec& flag : flags) {
    const std::string own = flag.positional ? "Arguments" : flag.group;
    if (own != group) text += ".SH \"" + roff(upper(own)) + "\"\n";
    group = own;
    text += flag_text(flag);
  }
  return text;
}

/// Puts each example on a line of its own, without filling.
std::string examples_section(const Examples& examples) {
  std::string text = ".SH EXAMPLES\n.nf\n";
  for (const std::string_view example : examples) text += roff(example) + '\n';
  return text + ".fi\n";
}

constexpr auto kExitStatus = R"(.SH "EXIT STATUS"
.TP
0
Good; also damage that was handled as asked.
.TP
1
Damaged data.
.TP
2
Usage.
.TP
3
Input or output failed.
.TP
130
Interrupted.
)";

/// The page dovetail(1), with the subcommands.
std::string man_page(const ProgramSpec& program) {
  std::string text = title(program, "", program.summary) + ".SH SYNOPSIS\n" + bold(program.name) + " [" +
                     italic("OPTIONS") + "] " + italic("SUBCOMMAND") + " [" + italic("ARGUMENTS") + "]\n" +
                     flags_text(program.flags) + ".SH SUBCOMMANDS\n";
  for (const CommandSpec& command : program.commands) {
    text += ".TP\n" + bold(page_name(program, command.name)) + "(1)\n" + roff(command.summary) + ".\n";
  }
  return text + examples_section(program.examples) + kExitStatus;
}

/// The page dovetail-SUBCOMMAND(1).
std::string man_page(const ProgramSpec& program, const CommandSpec& command) {
  std::string text = title(program, command.name, command.summary) + ".SH SYNOPSIS\n" +
                     bold(program.name + ' ' + command.name) + " [" + italic("OPTIONS") + ']';
  for (const FlagSpec& flag : command.flags) {
    if (flag.required && !flag.positional) text += ' ' + bold(flag.name) + ' ' + italic(flag.value);
  }
  for (const FlagSpec& flag : command.flags) {
    if (!flag.positional) continue;
    const std::string name = italic(flag.name) + (flag.many ? " ..." : "");
    text += flag.required ? ' ' + name : " [" + name + ']';
  }
  return text + '\n' + flags_text(command.flags) + examples_section(command.examples) + kExitStatus +
         ".SH \"SEE ALSO\"\n" + bold(program.name) + "(1)\n";
}

struct ManArguments {
  std::string command;
  std::optional<std::string> folder;
};

Result<int> write_all(const ProgramSpec& program, const std::string& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) return Error::from_errno(failure.value()).in_file(folder);
  const auto write = [&](std::string_view command, const std::string& page) {
    return replace_text(folder + '/' + page_name(program, command) + ".1", page);
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
