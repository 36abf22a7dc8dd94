// SPDX-License-Identifier: Apache-2.0
#include "tools/command/json_text.h"

#include <cmath>

#include "format/text/base64.h"
#include "format/text/hex.h"
#include "format/text/number_text.h"
#include "format/text/utf8.h"
#include "tools/command/render.h"

namespace dovetail::tools {

void append_string(std::string& json, std::string_view text) {
  json += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (c == '\n') {
      json += "\\n";
    } else if (c == '\t') {
      json += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      json += "\\u00" + format::hex(as_bytes({&c, 1}));
    } else {
      json += c;
    }
  }
  json += '"';
}

void append_bytes(std::string& json, ByteView bytes) {
  if (format::is_utf8(as_chars(bytes))) {
    append_string(json, as_chars(bytes));
  } else {
    json += "{\"base64\":\"" + format::to_base64(bytes) + "\"}";
  }
}

void append_float(std::string& json, float value) {
  if (!std::isfinite(value)) {
    json += std::isnan(value) ? "\"NaN\"" : (value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    return;
  }
  const std::string text = format::shortest(value);
  json += text;
  if (text.find_first_of(".e") == std::string::npos) json += ".0";
}

void append_int(std::string& json, std::int64_t value) {
  json += std::to_string(value);
}

}  // namespace dovetail::tools
