// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "format/example/example_wire.h"
#include "tools/command/json.h"
#include "tools/records/record_input.h"

namespace dovetail::tools {

/// Place, length and bytes: as `text` where they are UTF-8, as `hex` otherwise.
boost::json::object to_json(const PlacedRecord& record);

/// What a record holds, as JSON in one line without its newline. A tf.train.Example becomes
/// `{"feature":{"name":[values]}}`; a record that is JSON stays as it is, but for line breaks; other UTF-8 becomes a
/// string, and what is left `{"base64":"..."}`.
std::string content_json(ByteView record);

/// Appends the values of a feature: `[1, 2]`, or `null` for a feature that holds no list. Bytes that are not UTF-8 become
/// `{"base64":"..."}`. Ends with `...` after `most` values.
void append_values(std::string& json, const format::FeatureView& feature, std::uint64_t most = ~std::uint64_t{0});

}  // namespace dovetail::tools
