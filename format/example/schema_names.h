// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::format {

/// The names in a text such as `label, "odd, name"`. Nothing if it is not a list of names: the text
/// of a schema has a dtype behind each. Quotes are those of a schema.
std::optional<std::vector<std::string>> column_names(std::string_view text);

}  // namespace dovetail::format
