// SPDX-License-Identifier: Apache-2.0
// Values appended to a text of JSON as they are: numbers keep their kind, and nothing is built in memory first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <dovetail/bytes.h>

namespace dovetail::tools {

/// A string in quotes. Needs: `text` is UTF-8.
void append_string(std::string& json, std::string_view text);

/// A string where the bytes are UTF-8, otherwise `{"base64":"..."}`.
void append_bytes(std::string& json, ByteView bytes);

/// The shortest number that gives the same float again, always with a point or an exponent. What JSON has no number for
/// is a string, as in the JSON of protobuf: "NaN", "Infinity", "-Infinity".
void append_float(std::string& json, float value);

void append_int(std::string& json, std::int64_t value);

}  // namespace dovetail::tools
