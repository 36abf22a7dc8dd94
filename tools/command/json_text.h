// SPDX-License-Identifier: Apache-2.0
// Appends JSON values directly to a text: numbers keep their type, and no tree is built in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <dovetail/bytes.h>

namespace dovetail::tools {

/// A string in quotes. Needs: `text` is UTF-8.
void append_string(std::string& json, std::string_view text);

/// A string if the bytes are UTF-8, otherwise `{"base64":"..."}`.
void append_bytes(std::string& json, ByteView bytes);

/// The shortest number that gives the same float again, always with a point or an exponent. As in
/// the JSON of protobuf, values without a JSON number are strings: "NaN", "Infinity", "-Infinity".
void append_float(std::string& json, float value);

void append_int(std::string& json, std::int64_t value);

}  // namespace dovetail::tools
