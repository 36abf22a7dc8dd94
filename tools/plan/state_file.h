// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/state.h>

namespace dovetail::tools {

/// Reads a state in its text form, with or without a newline, or in its binary form.
/// Errors: those of the system, `bad_state`, `unsupported_version`; all name the file.
Result<State> read_state(const std::string& path);

/// Writes the text of a state and a newline; see `replace_text`.
Result<void> write_state(const std::string& path, const State& state);

}  // namespace dovetail::tools
