// SPDX-License-Identifier: Apache-2.0
// The arguments that the command accepts, as plain values. Completions and man pages are made from
// this specification. It comes from the same definition as `--help`.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::tools {

/// Command lines that work without changes if their files exist.
using Examples = std::array<std::string_view, 2>;

/// One flag or positional argument.
struct FlagSpec {
  /// The kind of value that a shell can complete.
  enum class Takes { nothing, words, file, folder, other };

  std::string name;  ///< With its dashes; a positional argument has none.
  std::string help;
  std::string value;  ///< What the help shows for the value; may be empty.
  std::string preset;
  std::string group;
  std::vector<std::string> words;     ///< The possible values, for `Takes::words`.
  std::vector<std::string> excludes;  ///< Names of flags that exclude this one.
  Takes takes = Takes::nothing;
  bool positional = false;
  bool required = false;
  bool many = false;  ///< Takes several values, or may be given several times.
};

struct CommandSpec {
  std::string name;
  std::string summary;
  std::vector<FlagSpec> flags;  ///< In the order of the help, `--help` first.
  Examples examples;
};

struct ProgramSpec {
  std::string name;
  std::string version;
  std::string summary;
  std::vector<FlagSpec> flags;
  std::vector<CommandSpec> commands;
  std::string footer;  ///< What the help has above the examples.
  Examples examples;
};

}  // namespace dovetail::tools
