// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/json.h"
#include "tools/record_input.h"

namespace dovetail::tools {

/// Place, length and bytes: as `text` where they are UTF-8, as `hex` otherwise.
boost::json::object to_json(const PlacedRecord& record);

}  // namespace dovetail::tools
