// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace dovetail::tools {

/// Whether `text` is one JSON object or array, at most 64 deep. Cost: one pass, nothing is kept.
bool is_json(std::string_view text);

}  // namespace dovetail::tools
