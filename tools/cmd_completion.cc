// SPDX-License-Identifier: Apache-2.0
// `dovetail completion`: scripts for shells, which complete subcommands, flags, values of flags, and
// paths.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/text/shell_quoted.h"
#include "format/text/words.h"
#include "tools/command/commands.h"
#include "tools/command/render.h"
#include "tools/command/sink.h"

namespace dovetail::tools {

namespace {

using Takes = FlagSpec::Takes;

std::string replaced(std::string_view text, char what, std::string_view by) {
  std::string result;
  for (const char c : text) result += c == what ? std::string(by) : std::string(1, c);
  return result;
}

/// Quotes one word for fish.
std::string fish_quoted(std::string_view text) {
  return '\'' + replaced(replaced(text, '\\', R"(\\)"), '\'', R"(\')") + '\'';
}

std::vector<std::string> names_of(const ProgramSpec& program) {
  std::vector<std::string> names;
  for (const CommandSpec& command : program.commands) names.push_back(command.name);
  return names;
}

std::string head(std::string_view comment, const ProgramSpec& program, std::string_view shell) {
  return std::string(comment) + "\n# Completion for " + program.name + ", made by `" + program.name + " completion " +
         std::string(shell) + "`.\n";
}

/// The bash commands that complete the values of `flag`.
std::string bash_values(const FlagSpec& flag) {
  switch (flag.takes) {
    case Takes::words:
      return "_dovetail_words " + format::shell_quoted(joined(flag.words, " "));
    case Takes::file:
      return "_dovetail_paths -f";
    case Takes::folder:
      return "_dovetail_paths -d";
    case Takes::nothing:
    case Takes::other:
      return ":";
  }
  return ":";
}

std::string bash_command(const CommandSpec& command) {
  std::string values;
  std::string positional = "    :\n";
  std::vector<std::string> flags;
  for (const FlagSpec& flag : command.flags) {
    if (flag.positional) {
      positional = "    " + bash_values(flag) + "\n";
      continue;
    }
    flags.push_back(flag.name);
    if (flag.takes != Takes::nothing) values += "    " + flag.name + ") " + bash_values(flag) + "; return ;;\n";
  }
  std::string text = "_dovetail_" + command.name + "() {\n";
  if (!values.empty()) text += "  case $before in\n" + values + "  esac\n";
  return text + "  if [[ $current == -* ]]; then\n    _dovetail_words " + format::shell_quoted(joined(flags, " ")) +
         "\n  else\n" + positional + "  fi\n}\n\n";
}

/// In zsh, a bracket ends a description, and colons separate parts.
std::string zsh_text(std::string_view text) {
  return replaced(replaced(replaced(replaced(text, '\\', R"(\\)"), '[', R"(\[)"), ']', R"(\])"), ':', R"(\:)");
}

std::string zsh_values(const FlagSpec& flag) {
  const std::string value = flag.positional ? flag.name : (flag.value.empty() ? "value" : flag.value);
  switch (flag.takes) {
    case Takes::words:
      return ":" + zsh_text(flag.positional ? flag.name : "word") + ":(" + joined(flag.words, " ") + ")";
    case Takes::file:
      return ":" + zsh_text(value) + ":_files";
    case Takes::folder:
      return ":" + zsh_text(value) + ":_files -/";
    case Takes::other:
      return ":" + zsh_text(value) + ": ";
    case Takes::nothing:
      return "";
  }
  return "";
}

std::string zsh_flag(const FlagSpec& flag) {
  if (flag.positional) return format::shell_quoted((flag.many ? "*" : "1") + zsh_values(flag));
  std::string text = flag.many ? "*" : (flag.excludes.empty() ? "" : "(" + joined(flag.excludes, " ") + ")");
  text += flag.name + (flag.takes == Takes::nothing ? "" : "=") + "[" + zsh_text(flag.help) + "]" + zsh_values(flag);
  return format::shell_quoted(text);
}

std::string fish_values(const FlagSpec& flag) {
  switch (flag.takes) {
    case Takes::words:
      return " -x -a " + fish_quoted(joined(flag.words, " "));
    case Takes::file:
      return " -r -F";
    case Takes::folder:
      return " -x -a '(__fish_complete_directories)'";
    case Takes::other:
      return " -x";
    case Takes::nothing:
      return "";
  }
  return "";
}

std::string fish_flag(const std::string& program, const std::string& condition, const FlagSpec& flag) {
  const std::string begin = "complete -c " + program + " -n " + fish_quoted(condition);
  if (!flag.positional) {
    return begin + " -l " + flag.name.substr(2) + fish_values(flag) + " -d " + fish_quoted(flag.help) + '\n';
  }
  if (flag.takes == Takes::words) return begin + " -a " + fish_quoted(joined(flag.words, " ")) + '\n';
  return flag.takes == Takes::other ? std::string() : begin + " -F\n";
}

constexpr auto kBashHelpers = R"(
# With `=` among the characters that break words, --flag=value comes in three of them.
_dovetail_place() {
  current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  if [[ $current == = ]]; then
    current=
  elif [[ $before == = ]] && ((COMP_CWORD > 1)); then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
}

_dovetail_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}

_dovetail_paths() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
}

)";

std::string bash_completion(const ProgramSpec& program) {
  const std::vector<std::string> names = names_of(program);
  std::string text = head("# shellcheck shell=bash", program, "bash") + kBashHelpers;
  for (const CommandSpec& command : program.commands) text += bash_command(command);
  std::vector<std::string> first = names;
  for (const FlagSpec& flag : program.flags) first.push_back(flag.name);
  return text + "_dovetail() {\n  local current before word\n  COMPREPLY=()\n  _dovetail_place\n" +
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD - 1}\"; do\n    case $word in\n      " + joined(names, " | ") +
         ") \"_dovetail_$word\"; return ;;\n    esac\n  done\n  _dovetail_words " +
         format::shell_quoted(joined(first, " ")) + "\n}\n\ncomplete -F _dovetail " + program.name + '\n';
}

std::string zsh_completion(const ProgramSpec& program) {
  std::string text = head("#compdef " + program.name, program, "zsh") +
                     "\n_dovetail() {\n  local curcontext=\"$curcontext\" state line\n  typeset -A opt_args\n" +
                     "  local -a commands=(\n";
  for (const CommandSpec& command : program.commands) {
    text +=
        "    " + format::shell_quoted(zsh_text(command.name) + ":" + replaced(command.summary, ':', R"(\:)")) + "\n";
  }
  text += "  )\n  _arguments -C";
  for (const FlagSpec& flag : program.flags) text += " \\\n    " + zsh_flag(flag);
  text += " \\\n    '1:subcommand:->subcommand' \\\n    '*::argument:->argument'\n" +
          std::string("  case $state in\n    subcommand) _describe -t commands subcommand commands ;;\n") +
          "    argument)\n      case $words[1] in\n";
  for (const CommandSpec& command : program.commands) {
    text += "        " + command.name + ")\n          _arguments";
    for (const FlagSpec& flag : command.flags) text += " \\\n            " + zsh_flag(flag);
    text += " ;;\n";
  }
  return text + "      esac ;;\n  esac\n}\n\n" +
         "# In $fpath this file is the function itself; if it is sourced, register the function.\n" +
         "if [[ $funcstack[1] == _dovetail ]]; then\n  _dovetail \"$@\"\nelse\n  compdef _dovetail " + program.name +
         "\nfi\n";
}

std::string fish_completion(const ProgramSpec& program) {
  std::string text = head("# fish", program, "fish") + "\ncomplete -c " + program.name + " -f\n";
  const std::string none = "not __fish_seen_subcommand_from " + joined(names_of(program), " ");
  for (const CommandSpec& command : program.commands) {
    text += "complete -c " + program.name + " -n " + fish_quoted(none) + " -a " + command.name + " -d " +
            fish_quoted(command.summary) + '\n';
  }
  for (const FlagSpec& flag : program.flags) text += fish_flag(program.name, none, flag);
  for (const CommandSpec& command : program.commands) {
    text += '\n';
    for (const FlagSpec& flag : command.flags) {
      text += fish_flag(program.name, "__fish_seen_subcommand_from " + command.name, flag);
    }
  }
  return text;
}

using Script = std::string (*)(const ProgramSpec&);
constexpr format::Words<Script, 3> kShells{
    {{"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}}};

}  // namespace

void add_completion(CommandLine& line) {
  const auto script = std::make_shared<std::optional<Script>>();
  Flags flags = line.subcommand("completion", "Print a completion script for a shell",
                                {"dovetail completion bash > dovetail.bash", "dovetail completion zsh > _dovetail"},
                                [&line, script] { return print(script->value()(line.describe())); });
  flags.add_choice("SHELL", *script, kShells, "The shell").required();
}

}  // namespace dovetail::tools
