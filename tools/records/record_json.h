// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "format/example/example_wire.h"
#include "tools/command/json.h"
#include "tools/records/record_input.h"

namespace dovetail::tools {

/// Place, length and bytes of a record. The bytes are `text` if they are UTF-8, else `hex`.
boost::json::object to_json(const PlacedRecord& record);

/// The content of a record as one line of JSON, without the newline. A tf.train.Example becomes
/// `{"feature":{"name":[values]}}`. A JSON record keeps its text, except line breaks. Other UTF-8
/// becomes a string, and other bytes become `{"base64":"..."}`.
std::string content_json(ByteView record);

/// Appends the values of a feature: `[1, 2]`, or `null` for a feature without a list. Bytes that
/// are not UTF-8 become `{"base64":"..."}`. After `most` values, `...` ends the list.
void append_values(std::string& json, const format::FeatureView& feature, std::uint64_t most = ~std::uint64_t{0});

}  // namespace dovetail::tools
