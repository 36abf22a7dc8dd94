// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dovetail::format {

/// Why a text is not JSON.
struct JsonFault {
  std::size_t offset = 0;
  std::string reason;
};

/// Checks, without building the value, that a text is one JSON value in UTF-8, at most 256 levels
/// deep.
std::optional<JsonFault> check_json(std::string_view text);

/// Returns whether the first line of a text is a JSON object, or the beginning of one if the text
/// is cut off.
bool begins_with_json_object(std::string_view text);

}  // namespace dovetail::format
