// SPDX-License-Identifier: Apache-2.0
// What a row gets whose record lacks a feature.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <dovetail/error.h>
#include <dovetail/schema.h>

namespace dovetail::format {

/// The fallback in its one form: numbers as short as they can be. Errors: `invalid_option`, saying why `text` is none.
Result<std::string> normal_fallback(const Column& column, std::string_view text);

/// One value of the fallback as it lies in memory, in the first bytes. Needs: a valid, dense column of numbers.
std::array<std::byte, 8> fallback_value(const Column& column);

}  // namespace dovetail::format
