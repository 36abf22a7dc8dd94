// SPDX-License-Identifier: Apache-2.0
// `dovetail completion`: scripts for shells.
#include <memory>
#include <optional>
#include <string>

#include "format/text/words.h"
#include "tools/command/commands.h"
#include "tools/command/completion.h"
#include "tools/command/sink.h"

namespace dovetail::tools {

namespace {

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
