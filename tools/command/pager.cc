// SPDX-License-Identifier: Apache-2.0
#include "tools/command/pager.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

namespace dovetail::tools {

namespace {

/// Null if the variable is not set.
const char* variable(const char* name) {
  return std::getenv(name);
}

bool is_set(const char* name) {
  const char* const value = variable(name);
  return value != nullptr && *value != '\0';
}

std::string_view pager_command() {
  for (const char* const name : {"DOVETAIL_PAGER", "PAGER"}) {
    if (const char* const value = variable(name)) return value;
  }
  return "less";
}

/// Whether the program of a command exists. True for commands that do not begin with a plain name;
/// the shell checks them.
bool is_there(std::string_view command) {
  const std::string_view program = command.substr(0, command.find_first_of(" \t"));
  if (program.find_first_of("/\"'$\\;|&(=") != std::string_view::npos) return true;
  std::string_view folders = is_set("PATH") ? variable("PATH") : "/usr/bin:/bin";
  for (;;) {
    const std::size_t end = folders.find(':');
    const std::string file = std::string(folders.substr(0, end)) + '/' + std::string(program);
    if (::access(file.c_str(), X_OK) == 0) return true;
    if (end == std::string_view::npos) return false;
    folders.remove_prefix(end + 1);
  }
}

bool shows_colours(bool paged) {
  if (is_set("NO_COLOR") || !is_set("TERM") || std::string_view(variable("TERM")) == "dumb") return false;
  const char* const less = variable("LESS");
  return !paged || less == nullptr || std::string_view(less).find_first_of("rR") != std::string_view::npos;
}

/// Becomes a shell that runs the command. Needs: this is a new process.
[[noreturn]] void run_shell(const char* command, int input) {
  // Where standard input was closed, the pipe has its number already; `dup2` would leave it to close.
  if (input == STDIN_FILENO ? ::fcntl(input, F_SETFD, 0) < 0 : ::dup2(input, STDIN_FILENO) < 0) ::_exit(127);
  // This program ignores both signals. A pager that inherited that would not end when its own
  // output is closed.
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_DFL);
  // Exit at once if all fits on the screen, pass colours on, leave the text on the screen.
  ::setenv("LESS", "FRX", /*overwrite=*/0);
  ::execl("/bin/sh", "sh", "-c", command, nullptr);
  ::_exit(127);
}

}  // namespace

Pager::Pager(bool wanted) {
  if (::isatty(STDOUT_FILENO) != 1) return;
  const std::string command(pager_command());
  if (wanted && !command.empty() && command != "cat" && is_there(command)) start(command.c_str());
  colours_ = shows_colours(pager_ >= 0);
}

void Pager::start(const char* command) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  terminal_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (terminal_ >= 0) pager_ = ::fork();
  if (pager_ == 0) run_shell(command, ends[0]);
  if (pager_ > 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    // Only the pager reacts to the keyboard. When it ends, the pipe closes, and this program ends
    // as well.
    std::signal(SIGINT, SIG_IGN);
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

Pager::~Pager() {
  if (pager_ >= 0) {
    ::dup2(terminal_, STDOUT_FILENO);  // closes the last writing end of the pipe
    while (::waitpid(pager_, nullptr, 0) < 0 && errno == EINTR) {
    }
    std::signal(SIGINT, SIG_DFL);
  }
  if (terminal_ >= 0) ::close(terminal_);
}

}  // namespace dovetail::tools
