// SPDX-License-Identifier: Apache-2.0
// The fallback: the value of a row whose record lacks the feature.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <dovetail/error.h>
#include <dovetail/schema.h>

namespace dovetail::format {

/// Returns the fallback in its normal form: numbers as short as they can be. Errors:
/// `invalid_option`, with the reason.
Result<std::string> normal_fallback(const Column& column, std::string_view text);

/// Returns one value of the fallback as in memory, in the first bytes. Needs: a valid, dense column
/// of numbers.
std::array<std::byte, 8> fallback_value(const Column& column);

}  // namespace dovetail::format
