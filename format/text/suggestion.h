// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dovetail::format {

/// Returns the word of `known` that `word` most likely means: at most a third of its letters are
/// added, left out, replaced or swapped. Returns an empty string if there is none.
std::string closest(std::string_view word, std::span<const std::string> known);

/// Returns "; did you mean 'inspect'?", or an empty string.
std::string suggestion(std::string_view word, std::span<const std::string> known);

}  // namespace dovetail::format
