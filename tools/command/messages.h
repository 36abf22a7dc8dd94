// SPDX-License-Identifier: Apache-2.0
// Messages on standard error, and exit codes.
#pragma once

#include <string_view>

#include <dovetail/error.h>

namespace dovetail::tools {

// Exit codes are part of the command's interface, because scripts rely on them.
inline constexpr int kExitGood = 0;
inline constexpr int kExitDamaged = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitIo = 3;
inline constexpr int kExitInterrupted = 130;  ///< The code that shells report after SIGINT.

/// The exit code for a failure. A closed pipe is `kExitGood`, because its reader wants no more.
int exit_code(const Error& error) noexcept;

/// Prints `dovetail: error: ...` on standard error and returns the exit code. Prints nothing for a
/// closed pipe.
int report(const Error& error);

/// Prints `dovetail: warning: ...` on standard error, in one line.
void warn(std::string_view text);

}  // namespace dovetail::tools
