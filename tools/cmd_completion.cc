// SPDX-License-Identifier: Apache-2.0
// `dovetail completion`: scripts for shells.
#include <memory>

#include "format/text/words.h"
#include "format/try.h"
#include "tools/command/commands.h"
#include "tools/command/completion.h"
#include "tools/command/sink.h"

namespace dovetail::tools {

namespace {

enum class Shell { bash, zsh, fish };

std::string script(const ProgramSpec& program, Shell shell) {
  switch (shell) {
    case Shell::bash:
      return bash_completion(program);
    case Shell::zsh:
      return zsh_completion(program);
    case Shell::fish:
      return fish_completion(program);
  }
  return {};
}

Result<int> run(const CommandLine& line, Shell shell) {
  return print(script(line.describe(), shell));
}

}  // namespace

void add_completion(CommandLine& line) {
  const auto shell = std::make_shared<std::optional<Shell>>();
  Flags flags = line.subcommand("completion", "Print a completion script for a shell",
                                {"dovetail completion bash > dovetail.bash", "dovetail completion zsh > _dovetail"},
                                [&line, shell] { return run(line, **shell); });
  flags
      .add_choice("SHELL", *shell,
                  format::Words<Shell, 3>{{{"bash", Shell::bash}, {"zsh", Shell::zsh}, {"fish", Shell::fish}}},
                  "The shell")
      .required();
}

}  // namespace dovetail::tools
