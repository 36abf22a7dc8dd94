// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dovetail::format {

/// "1 file", "2 files": a number and what it counts. Without `plural` that is the noun with an `s`.
std::string count_of(std::uint64_t count, std::string_view noun, std::string_view plural = {});

}  // namespace dovetail::format
