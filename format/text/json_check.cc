// SPDX-License-Identifier: Apache-2.0
#include "format/text/json_check.h"

#include <cstdint>

// Only the template of the parser; the rest of Boost.JSON is in dovetail_json.
#include <boost/json/basic_parser_impl.hpp>

#include "format/text/utf8.h"

namespace dovetail::format {

namespace {

namespace json = boost::json;

constexpr std::size_t kMaxDepth = 256;

/// A handler that accepts every part of a value and stores nothing.
struct Nobody {
  static constexpr std::size_t max_object_size = SIZE_MAX;
  static constexpr std::size_t max_array_size = SIZE_MAX;
  static constexpr std::size_t max_key_size = SIZE_MAX;
  static constexpr std::size_t max_string_size = SIZE_MAX;

  using Code = boost::system::error_code;
  using Text = json::string_view;
  static bool on_document_begin(Code&) { return true; }
  static bool on_document_end(Code&) { return true; }
  static bool on_object_begin(Code&) { return true; }
  static bool on_object_end(std::size_t, Code&) { return true; }
  static bool on_array_begin(Code&) { return true; }
  static bool on_array_end(std::size_t, Code&) { return true; }
  static bool on_key_part(Text, std::size_t, Code&) { return true; }
  static bool on_key(Text, std::size_t, Code&) { return true; }
  static bool on_string_part(Text, std::size_t, Code&) { return true; }
  static bool on_string(Text, std::size_t, Code&) { return true; }
  static bool on_number_part(Text, Code&) { return true; }
  static bool on_int64(std::int64_t, Text, Code&) { return true; }
  static bool on_uint64(std::uint64_t, Text, Code&) { return true; }
  static bool on_double(double, Text, Code&) { return true; }
  static bool on_bool(bool, Code&) { return true; }
  static bool on_null(Code&) { return true; }
  static bool on_comment_part(Text, Code&) { return true; }
  static bool on_comment(Text, Code&) { return true; }
};

json::parse_options strict() {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  return options;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// Python's `json.dumps` writes these.
std::string reason_of(boost::system::error_code failed, std::string_view text, std::size_t used) {
  if (!is_utf8(text)) return "not UTF-8";
  for (const std::string_view word : {"NaN", "Infinity"}) {
    if (text.substr(used).starts_with(word)) return std::string(word) + "; write null";
  }
  return failed.message();
}

}  // namespace

std::optional<JsonFault> check_json(std::string_view text) {
  json::basic_parser<Nobody> parser(strict());
  boost::system::error_code failed;
  std::size_t used = parser.write_some(false, text.data(), text.size(), failed);
  if (failed) return JsonFault{used, reason_of(failed, text, used)};
  while (used < text.size() && is_blank(text[used])) ++used;
  if (used < text.size()) return JsonFault{used, "there is text after the value"};
  return std::nullopt;
}

bool begins_with_json_object(std::string_view text) {
  const std::size_t end = text.find('\n');
  const bool whole = end != std::string_view::npos;
  const std::string_view line = text.substr(0, end);
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos || line[first] != '{') return false;
  if (whole && check_json(line)) return false;
  json::basic_parser<Nobody> parser(strict());
  boost::system::error_code failed;
  parser.write_some(true, line.data(), line.size(), failed);
  return !failed;
}

}  // namespace dovetail::format
