// SPDX-License-Identifier: Apache-2.0
#include "tools/command/command_line.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <sstream>
#include <system_error>
#include <type_traits>

#include <CLI/CLI.hpp>

#include "format/text/suggestion.h"
#include "format/text/visible.h"
#include "tools/command/help_text.h"
#include "tools/command/messages.h"
#include "tools/command/render.h"

namespace dovetail::tools {

namespace {

template <class Value>
struct TypeOf {
  using Type = Value;
};
template <class Value>
struct TypeOf<std::optional<Value>> {
  using Type = Value;
};

/// The factor of a suffix of sizes, such as K, KB, Ki or KiB; 0 for any other text.
std::uint64_t factor_of(std::string suffix) {
  constexpr std::string_view kPrefixes = "kmgtpe";
  suffix = CLI::detail::trim_copy(CLI::detail::to_lower(suffix));
  if (suffix.empty() || suffix == "b") return 1;
  const std::size_t prefix = kPrefixes.find(suffix.front());
  const std::string unit = suffix.substr(1);
  if (prefix == kPrefixes.npos || (!unit.empty() && unit != "b" && unit != "i" && unit != "ib")) return 0;
  return std::uint64_t{1} << 10 * (prefix + 1);
}

/// A number in decimal, also after zeros, or in hex; with `size`, a suffix may follow. CLI11 would
/// read "010" as 8 and "-1" as the largest number, and has no good message.
template <class Number>
CLI::Validator whole_number(bool size = false) {
  constexpr std::uint64_t kMost = std::numeric_limits<Number>::max();
  return {[size](std::string& text) -> std::string {
            if (text.starts_with('-')) return "'" + text + "' is negative";
            const bool hex = text.starts_with("0x") || text.starts_with("0X");
            std::uint64_t value = 0;
            const char* const end = text.data() + text.size();
            const auto [rest, failed] = std::from_chars(text.data() + (hex ? 2 : 0), end, value, hex ? 16 : 10);
            const std::uint64_t factor = size ? factor_of({rest, end}) : rest == end ? 1 : 0;
            if (failed == std::errc::invalid_argument || factor == 0) {
              return "'" + text + "' is not a " +
                     (size ? "number of bytes, such as 512, 64K, 256M or 1G" : "whole number");
            }
            if (failed != std::errc() || value > kMost / factor) {
              return "'" + text + "' is above " + std::to_string(kMost);
            }
            text = std::to_string(value * factor);
            return {};
          },
          ""};
}

CLI::Validator real_number() {
  return {[](std::string& text) -> std::string {
            double value = 0;
            return CLI::detail::lexical_cast(text, value) ? std::string() : "'" + text + "' is not a number";
          },
          ""};
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream rest(text);
  for (std::string part; std::getline(rest, part, separator);) parts.push_back(part);
  return parts;
}

/// For example "none or snappy" and "drop, pad or wrap".
std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

FlagSpec describe(const CLI::Option& option) {
  FlagSpec flag;
  flag.positional = option.get_positional();
  flag.name = flag.positional ? option.get_name(true) : "--" + option.get_lnames().front();
  flag.help = option.get_description();
  flag.group = option.get_group();
  if (flag.group == "OPTIONS") flag.group = "Options";  // as CLI11 calls it since 2.5
  flag.required = option.get_required();
  flag.many = option.get_items_expected_max() > 1;
  for (const CLI::Option* other : option.get_excludes()) flag.excludes.push_back(other->get_name());
  std::sort(flag.excludes.begin(), flag.excludes.end());
  if (option.get_items_expected_max() == 0) return flag;  // a switch
  flag.value = option.get_type_name();
  flag.preset = option.get_default_str();
  using Takes = FlagSpec::Takes;
  flag.takes = Takes::other;
  if (flag.value.find('|') != std::string::npos) {
    flag.takes = Takes::words;
    flag.words = parts_of(flag.value, '|');
  } else if (flag.value == "DIR") {
    flag.takes = Takes::folder;
  } else if (flag.value == "FILE" || flag.positional) {
    flag.takes = Takes::file;
  }
  return flag;
}

/// The flags in the order of the help: arguments, then the flags of each group.
std::vector<FlagSpec> describe_flags(const CLI::App& app) {
  std::vector<FlagSpec> flags;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) flags.push_back(describe(*option));
  }
  for (const std::string& group : app.get_groups()) {
    for (const CLI::Option* option : app.get_options()) {
      if (!option->get_positional() && option->get_group() == group) flags.push_back(describe(*option));
    }
  }
  return flags;
}

std::vector<std::string> long_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

/// The flag that an unknown flag probably means: one with a similar name, or its beginning.
std::string meant_flag(const std::string& name, const std::vector<std::string>& known) {
  if (std::string close = format::suggestion(name, known); !close.empty()) return close;
  const auto begins_it = [&](const std::string& each) { return name.starts_with(each); };
  const auto meant = std::find_if(known.begin(), known.end(), begins_it);
  return meant == known.end() ? std::string() : "; did you mean '" + *meant + "'?";
}

/// The unknown argument, if any. CLI11 reports it only if no required argument is missing.
std::string unknown_argument(const CLI::App& app) {
  std::vector<std::string> left = app.remaining();
  // CLI11 keeps the `--` that ends the options.
  const bool only_positionals = !left.empty() && left.front() == "--";
  std::erase(left, "--");
  const std::string of = app.get_parent() == nullptr ? "" : " of '" + app.get_name() + "'";
  if (!left.empty() && !only_positionals && left.front().size() > 1 && left.front().starts_with('-')) {
    const std::string name = left.front().substr(0, left.front().find('='));
    return "unknown option " + name + of + meant_flag(name, long_names(app));
  }
  if (!left.empty() && app.get_parent() == nullptr) {
    return "unknown subcommand '" + left.front() + "'" + format::suggestion(left.front(), subcommand_names(app));
  }
  if (!left.empty()) return "'" + app.get_name() + "' takes no more arguments: '" + left.front() + "'";
  for (const CLI::App* command : app.get_subcommands()) {
    if (std::string found = unknown_argument(*command); !found.empty()) return found;
  }
  return {};
}

/// An option or argument with an empty value, if any. Typically a variable of a script was empty.
std::string empty_value(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const auto& values = option->results();
    const bool takes_values = option->get_items_expected_max() > 0;
    if (!takes_values || std::find(values.begin(), values.end(), "") == values.end()) continue;
    const FlagSpec flag = describe(*option);
    return flag.name + " is empty";
  }
  for (const CLI::App* command : app.get_subcommands()) {
    if (std::string found = empty_value(*command); !found.empty()) return found;
  }
  return {};
}

int report_usage(const CLI::App& app, const std::string& what) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::string whose = chosen.empty() ? "" : ' ' + chosen.front()->get_name();
  std::fprintf(stderr, "dovetail: error: %s\nTry 'dovetail%s --help'.\n", format::visible(what).c_str(), whose.c_str());
  return kExitUsage;
}

}  // namespace

Flag Flag::required() {
  option_->required();
  return *this;
}

Flag Flag::shown_as(const std::string& type) {
  option_->type_name(type);
  return *this;
}

Flag Flag::preset(const std::string& text) {
  option_->default_str(text);
  return *this;
}

Flag Flag::excludes(Flag other) {
  option_->excludes(other.option_);
  return *this;
}

Flag Flag::takes_all() {
  option_->allow_extra_args(true);
  return *this;
}

bool Flag::given() const {
  return option_->count() != 0;
}

std::string Flag::name() const {
  return option_->get_name();
}

CLI::Option& Flags::grouped(CLI::Option* option) const {
  if (!group_.empty()) option->group(group_);
  return *option;
}

template <class Value>
Flag Flags::add(const std::string& name, Value& value, const std::string& help) {
  using Type = typename TypeOf<Value>::Type;
  if constexpr (std::is_same_v<Type, bool>) {
    return Flag(grouped(command_->add_flag(name, value, help)));
  } else {
    CLI::Option& option = grouped(command_->add_option(name, value, help));
    option.type_name("");
    if constexpr (std::is_unsigned_v<Type>) {
      option.transform(whole_number<Type>())->type_name("N");
      if (std::is_same_v<Type, Value>) option.capture_default_str();
    } else if constexpr (std::is_same_v<Type, double>) {
      option.check(real_number())->type_name("X");
    } else if (name.starts_with('-')) {
      // A flag takes one value each time that it is given. Otherwise it would take the arguments
      // that follow.
      option.allow_extra_args(false);
    }
    return Flag(option);
  }
}

template Flag Flags::add(const std::string&, bool&, const std::string&);
template Flag Flags::add(const std::string&, double&, const std::string&);
template Flag Flags::add(const std::string&, std::string&, const std::string&);
template Flag Flags::add(const std::string&, std::vector<std::string>&, const std::string&);
template Flag Flags::add(const std::string&, std::uint32_t&, const std::string&);
template Flag Flags::add(const std::string&, std::uint64_t&, const std::string&);
template Flag Flags::add(const std::string&, std::optional<std::string>&, const std::string&);
template Flag Flags::add(const std::string&, std::optional<std::uint32_t>&, const std::string&);
template Flag Flags::add(const std::string&, std::optional<std::uint64_t>&, const std::string&);

template <class Number>
Flag Flags::add_size(const std::string& name, Number& value, const std::string& help) {
  CLI::Option& option = grouped(command_->add_option(name, value, help));
  option.transform(whole_number<Number>(/*size=*/true))->type_name("SIZE");
  return Flag(option);
}

template Flag Flags::add_size(const std::string&, std::uint32_t&, const std::string&);
template Flag Flags::add_size(const std::string&, std::uint64_t&, const std::string&);

Flag Flags::add_words(const std::string& name, const std::string& words, std::function<bool(std::string_view)> choose,
                      const std::string& help) {
  const auto parse = [name, words, choose = std::move(choose)](const std::string& text) {
    if (choose(text)) return;
    const std::vector<std::string> known = parts_of(words, '|');
    throw CLI::ValidationError(
        name, "it must be " + alternatives(known) + ", not '" + text + "'" + format::suggestion(text, known));
  };
  return Flag(grouped(command_->add_option_function<std::string>(name, parse, help))).shown_as(words);
}

Flag Flags::add_word(const std::string& name, std::string& value, const std::vector<std::string>& words,
                     const std::string& help) {
  const auto choose = [&value, words](std::string_view text) {
    value = text;
    return std::find(words.begin(), words.end(), text) != words.end();
  };
  return add_words(name, tools::joined(words, "|"), choose, help);
}

CommandLine::CommandLine(const std::string& name, const std::string& version, std::function<std::string()> version_text,
                         const std::string& summary, const std::string& footer, const Examples& examples)
    : app_(std::make_unique<CLI::App>(summary, name)), version_(version), footer_(footer), examples_{{"", examples}} {
  app_->set_version_flag("--version", std::move(version_text), "Print the version and how the program was built");
  app_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Flags CommandLine::subcommand(const std::string& name, const std::string& summary, const Examples& examples,
                              Action action) {
  CLI::App* const command = app_->add_subcommand(name, summary);
  command->callback([this, action = std::move(action)] { chosen_ = action; });
  examples_.emplace(name, examples);
  return Flags(*command);
}

ProgramSpec CommandLine::describe() const {
  ProgramSpec program{app_->get_name(), version_,        app_->get_description(), describe_flags(*app_), {},
                      footer_,          examples_.at("")};
  for (const CLI::App* command : app_->get_subcommands(nullptr)) {
    const std::string& name = command->get_name();
    program.commands.push_back({name, command->get_description(), describe_flags(*command), examples_.at(name)});
  }
  return program;
}

std::string CommandLine::help(const std::string& command) const {
  const ProgramSpec program = describe();
  const auto found = std::find_if(program.commands.begin(), program.commands.end(),
                                  [&](const CommandSpec& each) { return each.name == command; });
  return help_text(program, found == program.commands.end() ? nullptr : &*found);
}

CommandLine::Parsed CommandLine::parse(int argc, const char* const* argv) {
  if (argc <= 1) {
    std::fputs(help().c_str(), stdout);
    return {nullptr, kExitGood};
  }
  try {
    app_->parse(argc, argv);
    if (const std::string empty = empty_value(*app_); !empty.empty()) return {nullptr, report_usage(*app_, empty)};
    return {std::move(chosen_), kExitGood};
  } catch (const CLI::CallForHelp&) {
    const std::vector<CLI::App*> chosen = app_->get_subcommands();
    std::fputs(help(chosen.empty() ? "" : chosen.front()->get_name()).c_str(), stdout);
    return {nullptr, kExitGood};
  } catch (const CLI::Success& asked_for_version) {
    return {nullptr, app_->exit(asked_for_version)};
  } catch (const CLI::ParseError& error) {
    const std::string what = unknown_argument(*app_);
    return {nullptr, report_usage(*app_, what.empty() ? error.what() : what)};
  }
}

}  // namespace dovetail::tools
