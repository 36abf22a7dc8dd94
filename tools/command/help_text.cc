// SPDX-License-Identifier: Apache-2.0
// Made here and not by CLI11, whose versions lay it out in different ways and break the examples.
#include "tools/command/help_text.h"

#include <string_view>
#include <vector>

namespace dovetail::tools {

namespace {

constexpr std::size_t kHelpColumn = 30;

void append_entry(std::string& text, const std::string& name, const std::string& help) {
  std::string line = "  " + name;
  if (line.size() >= kHelpColumn) {
    text += line + '\n';
    line.clear();
  }
  line.resize(kHelpColumn, ' ');
  text += line + help + '\n';
}

std::string flag_text(const FlagSpec& flag) {
  std::string text = flag.name == "--help" ? "-h,--help" : flag.name;
  if (!flag.value.empty()) text += ' ' + flag.value;
  if (!flag.preset.empty()) text += '=' + flag.preset;
  if (flag.many) text += " ...";
  if (flag.required) text += " REQUIRED";
  if (!flag.excludes.empty()) text += " Excludes:";
  for (const std::string& other : flag.excludes) text += ' ' + other;
  return text;
}

std::string usage_text(const std::vector<FlagSpec>& flags) {
  std::string text = " [OPTIONS]";
  for (const FlagSpec& flag : flags) {
    if (!flag.positional) continue;
    const std::string name = flag.name + (flag.many ? "..." : "");
    text += flag.required ? ' ' + name : " [" + name + ']';
  }
  return text;
}

void append_flags(std::string& text, const std::vector<FlagSpec>& flags) {
  std::string_view title;
  for (const FlagSpec& flag : flags) {
    const std::string_view of = flag.positional ? std::string_view("Positionals") : flag.group;
    if (of != title) text += '\n' + std::string(of) + ":\n";
    title = of;
    append_entry(text, flag_text(flag), flag.help);
  }
}

}  // namespace

std::string help_text(const ProgramSpec& program, const CommandSpec* command) {
  const std::vector<FlagSpec>& flags = command != nullptr ? command->flags : program.flags;
  std::string text = (command != nullptr ? command->summary : program.summary) + "\nUsage: " + program.name;
  if (command != nullptr) text += ' ' + command->name;
  text += usage_text(flags) + (command != nullptr ? "\n" : " SUBCOMMAND\n");
  append_flags(text, flags);
  if (command == nullptr) {
    text += "\nSubcommands:\n";
    for (const CommandSpec& each : program.commands) append_entry(text, each.name, each.summary);
    text += '\n' + program.footer + '\n';
  }
  text += "\nExamples:\n";
  for (const std::string_view example : command != nullptr ? command->examples : program.examples) {
    text += "  " + std::string(example) + '\n';
  }
  return text;
}

}  // namespace dovetail::tools
