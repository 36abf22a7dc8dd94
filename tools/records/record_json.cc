// SPDX-License-Identifier: Apache-2.0
#include "tools/records/record_json.h"

#include <algorithm>
#include <cmath>

#include "format/text/base64.h"
#include "format/text/hex.h"
#include "format/text/number_text.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"
#include "inspect/payload.h"

namespace dovetail::tools {

namespace {

/// A string in quotes. Needs: `text` is UTF-8.
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

/// A string if the bytes are UTF-8, otherwise `{"base64":"..."}`.
void append_value(std::string& json, ByteView bytes) {
  if (format::is_utf8(as_chars(bytes))) {
    append_string(json, as_chars(bytes));
  } else {
    json += "{\"base64\":\"" + format::to_base64(bytes) + "\"}";
  }
}

/// The shortest number that gives the same float again, always with a point or an exponent. As in
/// the JSON of protobuf, values without a JSON number are strings: "NaN", "Infinity", "-Infinity".
void append_value(std::string& json, float value) {
  if (!std::isfinite(value)) {
    json += std::isnan(value) ? "\"NaN\"" : (value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    return;
  }
  const std::string text = format::shortest(value);
  json += text;
  if (text.find_first_of(".e") == std::string::npos) json += ".0";
}

void append_value(std::string& json, std::int64_t value) {
  json += std::to_string(value);
}

template <class Value>
void append_list(std::string& json, const format::FeatureView& feature, std::uint64_t most) {
  json += '[';
  format::FeatureValues values(feature);
  std::uint64_t count = 0;
  for (Value value{}; values.next(value); ++count) {
    if (count > 0) json += ", ";
    if (count == most) {
      json += "...";
      break;
    }
    append_value(json, value);
  }
  json += ']';
}

std::string example_json(ByteView record) {
  format::ExampleFeatures features;
  std::string json = "{\"feature\":{";
  // The guess of the payload has parsed this record before, so a failure means that it has no
  // features.
  if (!features.parse(record)) return "{}";
  for (const format::FeatureView& feature : features.all()) {
    if (&feature != features.all().data()) json += ',';
    append_string(json, feature.name);
    json += ':';
    append_values(json, feature);
  }
  return json + "}}";
}

/// Replaces line breaks, which JSON text has only between tokens.
std::string in_one_line(std::string_view json) {
  std::string line(json);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

}  // namespace

boost::json::object to_json(const PlacedRecord& record) {
  boost::json::object object = {
      {"id", record.id}, {"shard", record.shard}, {"record", record.record}, {"bytes", record.bytes.size()}};
  if (format::is_utf8(as_chars(record.bytes))) {
    object["text"] = as_chars(record.bytes);
  } else {
    object["hex"] = format::hex(record.bytes);
  }
  return object;
}

std::string content_json(ByteView record) {
  const inspect::Payload payload = inspect::guess_payload(record);
  std::string json;
  if (payload == inspect::Payload::json) {
    json = in_one_line(as_chars(record));
  } else if (payload == inspect::Payload::example) {
    json = example_json(record);
  } else {
    append_value(json, record);
  }
  return format::visible_json(std::move(json));
}

void append_values(std::string& json, const format::FeatureView& feature, std::uint64_t most) {
  switch (feature.kind) {
    case format::FeatureKind::bytes:
      return append_list<ByteView>(json, feature, most);
    case format::FeatureKind::floats:
      return append_list<float>(json, feature, most);
    case format::FeatureKind::ints:
      return append_list<std::int64_t>(json, feature, most);
    case format::FeatureKind::none:
      json += "null";
  }
}

}  // namespace dovetail::tools
