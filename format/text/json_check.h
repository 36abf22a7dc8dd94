// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dovetail::format {

/// Why a text is no JSON.
struct JsonFault {
  std::size_t offset = 0;
  std::string reason;
};

/// Checks that a text is one JSON value, in UTF-8, at most 256 levels deep, without building it.
std::optional<JsonFault> check_json(std::string_view text);

/// Whether the first line of a text that may be cut off at its end is a JSON object, as far as it is there.
bool begins_with_json_object(std::string_view text);

}  // namespace dovetail::format
