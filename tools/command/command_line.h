// SPDX-License-Identifier: Apache-2.0
// The flags of the subcommands. CLI11, which takes long to compile, stays in command_line.cc.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/error.h>

#include "format/text/words.h"
#include "tools/command/command_spec.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dovetail::tools {

/// One flag, or a positional argument if its name has no dashes.
class Flag {
 public:
  Flag required();
  /// The text for the value in the help, and for the default.
  Flag shown_as(const std::string& type);
  Flag preset(const std::string& text);
  /// Makes the two flags exclude each other.
  Flag excludes(Flag other);
  /// Takes all arguments up to the next flag.
  Flag takes_all();
  /// Whether the flag was given, and its name. Needs: the arguments were parsed.
  bool given() const;
  std::string name() const;

 private:
  friend class Flags;
  explicit Flag(CLI::Option& option) : option_(&option) {}
  CLI::Option* option_;
};

/// The flags of one subcommand. The variables bound to them must live until the action has run.
class Flags {
 public:
  /// Sets the heading in the help for the flags that follow.
  void group(const std::string& name) { group_ = name; }

  /// A switch for a bool; otherwise a flag with a value: a text, several texts, a number, or an
  /// optional text or number.
  template <class Value>
  Flag add(const std::string& name, Value& value, const std::string& help);

  /// A number of bytes, with an optional suffix: 64K, 256M and 1G are multiples of powers of 1024.
  template <class Number>
  Flag add_size(const std::string& name, Number& value, const std::string& help);

  /// One of several words; each stands for a value.
  template <class Value, std::size_t kCount>
  Flag add_choice(const std::string& name, Value& value, const format::Words<Value, kCount>& words,
                  const std::string& help) {
    const std::string_view preset = format::word_of(words, value);
    return add_words(name, joined(words), chooser(value, words), help).preset(std::string(preset));
  }
  /// The same; no value if the flag is not given.
  template <class Value, std::size_t kCount>
  Flag add_choice(const std::string& name, std::optional<Value>& value, const format::Words<Value, kCount>& words,
                  const std::string& help) {
    return add_words(name, joined(words), chooser(value, words), help);
  }

  /// One of several words that are only known at run time.
  Flag add_word(const std::string& name, std::string& value, const std::vector<std::string>& words,
                const std::string& help);

 private:
  friend class CommandLine;
  explicit Flags(CLI::App& command) : command_(&command) {}
  template <class Value, std::size_t kCount>
  static std::string joined(const format::Words<Value, kCount>& words) {
    std::string text;
    for (const auto& [word, value] : words) text += (text.empty() ? "" : "|") + std::string(word);
    return text;
  }
  template <class Target, class Value, std::size_t kCount>
  static std::function<bool(std::string_view)> chooser(Target& target, const format::Words<Value, kCount>& words) {
    return [&target, words](std::string_view text) {
      const std::optional<Value> chosen = format::value_of(words, text);
      if (chosen) target = *chosen;
      return chosen.has_value();
    };
  }
  Flag add_words(const std::string& name, const std::string& words, std::function<bool(std::string_view)> choose,
                 const std::string& help);
  CLI::Option& grouped(CLI::Option* option) const;

  CLI::App* command_;
  std::string group_;
};

/// The subcommands and their actions.
class CommandLine {
 public:
  /// Does the work of a subcommand. Returns the exit code, or the failure that determines it.
  using Action = std::function<Result<int>()>;

  /// `version_text` returns what `--version` prints. The help ends with `footer` and the examples.
  CommandLine(const std::string& name, const std::string& version, std::function<std::string()> version_text,
              const std::string& summary, const std::string& footer, const Examples& examples);
  ~CommandLine();

  Flags subcommand(const std::string& name, const std::string& summary, const Examples& examples, Action action);

  /// The specification of everything added so far.
  ProgramSpec describe() const;

  /// The output of `--help`, for a subcommand or the whole program. Needs: the subcommand exists.
  std::string help(const std::string& command = {}) const;

  /// The action to run. If help was requested or the arguments are wrong, prints the help or the
  /// error and returns the exit code instead.
  struct Parsed {
    Action action;
    int exit_code = 0;
  };
  Parsed parse(int argc, const char* const* argv);

 private:
  std::unique_ptr<CLI::App> app_;
  std::string version_;
  std::string footer_;
  std::map<std::string, Examples> examples_;  // by subcommand; an empty name is the whole program
  Action chosen_;
};

}  // namespace dovetail::tools
