// SPDX-License-Identifier: Apache-2.0
#include "reader/features/json_example.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

namespace dovetail::detail {
namespace {

namespace json = boost::json;

bool is_whole(const json::value& value) {
  return value.is_int64() || value.is_bool();
}
std::int64_t whole(const json::value& value) {
  return value.is_bool() ? static_cast<std::int64_t>(value.get_bool()) : value.get_int64();
}
bool is_string(const json::value& value) {
  return value.is_string();
}

}  // namespace

/// Adds the members of an object.
struct JsonExample::Fields {
  format::ExampleEncoder& encoder;
  std::deque<std::string> texts;  // that the encoder borrows
  std::set<std::string> names;    // "a.b" may be a member, and one of a member

  void add_object(const json::object& object, const std::string& prefix) {
    for (const auto& [key, value] : object) {
      const std::string name = prefix + std::string(key);
      if (const json::object* const inner = value.if_object()) {
        add_object(*inner, name + '.');
        continue;
      }
      const json::array* const list = value.if_array();
      const bool missing = value.is_null() || (list != nullptr && list->empty());
      if (!missing && names.insert(name).second) {
        // Where they lie: the encoder borrows texts.
        add_values(name, list != nullptr ? std::span(list->data(), list->size()) : std::span(&value, 1), value);
      }
    }
  }

  void add_values(const std::string& name, std::span<const json::value> values, const json::value& given) {
    if (std::all_of(values.begin(), values.end(), is_whole)) {
      std::vector<std::int64_t> ints;
      for (const json::value& value : values) ints.push_back(whole(value));
      encoder.add_ints(name, ints);
    } else if (std::all_of(values.begin(), values.end(), [](const json::value& value) { return value.is_number(); })) {
      std::vector<float> floats;
      for (const json::value& value : values) floats.push_back(static_cast<float>(value.to_number<double>()));
      encoder.add_floats(name, floats);
    } else if (std::all_of(values.begin(), values.end(), is_string)) {
      std::vector<ByteView> views;
      for (const json::value& value : values) views.push_back(as_bytes(std::string_view(value.get_string())));
      encoder.add_bytes(name, views);
    } else {
      texts.push_back(json::serialize(given));
      encoder.add_bytes(name, as_bytes(texts.back()));
    }
  }
};

const std::vector<std::byte>* JsonExample::encode(ByteView record) {
  const std::string_view text = as_chars(record);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text[begin] != '{') return nullptr;
  json::error_code failed;
  const json::value value = json::parse(text, failed);
  if (failed || !value.is_object()) return nullptr;
  encoder_.clear();
  Fields fields{encoder_, {}, {}};
  fields.add_object(value.get_object(), {});
  return encoder_.encode(example_) ? &example_ : nullptr;
}

}  // namespace dovetail::detail
