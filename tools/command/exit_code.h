// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/error.h>

namespace dovetail::tools {

// Scripts rely on these; they are part of the command's interface.
inline constexpr int kExitGood = 0;
inline constexpr int kExitDamaged = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitIo = 3;
inline constexpr int kExitInterrupted = 130;  ///< What shells report for a program that SIGINT ended.

/// The exit code for a failure. A closed pipe is `kExitGood`: its reader has all that it wanted.
int exit_code(const Error& error) noexcept;

/// Prints `dovetail: error: ...` on standard error and returns the exit code. Prints nothing for a closed pipe.
int report(const Error& error);

}  // namespace dovetail::tools
