// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace dovetail::format {

/// How features are made of packed records that are JSON, for error texts.
inline constexpr std::string_view kJsonRemedy =
    "convert the JSON lines again with --records example, or `dovetail cat OLD | dovetail convert - --records example "
    "--to NEW`";

}  // namespace dovetail::format
