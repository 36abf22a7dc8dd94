// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace dovetail::format {

/// Whether `text` is UTF-8: the shortest forms only, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) noexcept;

}  // namespace dovetail::format
