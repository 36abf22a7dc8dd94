// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dovetail::format {

/// The one of `known` that `word` seems to be meant for: at most a third of its letters added, left out, replaced or
/// swapped. Empty where there is none.
std::string closest(std::string_view word, std::span<const std::string> known);

/// "; did you mean 'inspect'?", or nothing.
std::string suggestion(std::string_view word, std::span<const std::string> known);

}  // namespace dovetail::format
