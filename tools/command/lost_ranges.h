// SPDX-License-Identifier: Apache-2.0
// Damage in the output of the command.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dovetail/lost_range.h>
#include <boost/json/array.hpp>

namespace dovetail::tools {

boost::json::array lost_json(const std::vector<LostRange>& ranges);

/// One line per range, and the number of further ones if `places`, the number of all, is larger.
std::string lost_text(const std::vector<LostRange>& ranges, std::uint64_t places);

}  // namespace dovetail::tools
