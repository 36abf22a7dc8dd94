// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dovetail::format {

/// Returns a number and its noun, such as "1 file" or "2 files". The default of `plural` is the
/// noun with an `s`.
std::string count_of(std::uint64_t count, std::string_view noun, std::string_view plural = {});

/// Returns a size in bytes for people, such as "1.5 GiB" or "512 B".
std::string human_bytes(std::uint64_t bytes);

}  // namespace dovetail::format
