// SPDX-License-Identifier: Apache-2.0
#include "format/text/json_members.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

namespace dovetail::format {
namespace {

namespace json = boost::json;

std::int64_t whole(const json::value& value) {
  return value.is_bool() ? static_cast<std::int64_t>(value.get_bool()) : value.get_int64();
}

double real(const json::value& value) {
  const auto number = value.to_number<double>();
  const bool fits = std::abs(number) <= static_cast<double>(std::numeric_limits<float>::max());
  return fits ? number : std::copysign(std::numeric_limits<double>::infinity(), number);
}

ByteView text(const json::value& value) {
  return as_bytes(std::string_view(value.get_string()));
}

template <class Get>
auto all_of(std::span<const json::value> values, Get get) {
  std::vector<decltype(get(values[0]))> all(values.size());
  std::transform(values.begin(), values.end(), all.begin(), get);
  return all;
}

struct Members {
  const std::function<void(std::string_view, const JsonValues&)>& add;
  std::set<std::string> names;  // "a.b" may be a member itself, and also member "b" of "a"

  void add_object(const json::object& object, const std::string& prefix) {
    for (const auto& [key, value] : object) {
      const std::string name = prefix + std::string(key);
      if (const json::object* const inner = value.if_object()) {
        add_object(*inner, name + '.');
        continue;
      }
      const json::array* const list = value.if_array();
      const bool missing = value.is_null() || (list != nullptr && list->empty());
      if (missing || !names.insert(name).second) continue;
      add_values(name, list != nullptr ? std::span(list->data(), list->size()) : std::span(&value, 1), value);
    }
  }

  void add_values(const std::string& name, std::span<const json::value> values, const json::value& given) {
    const auto are = [&](auto kind) { return std::all_of(values.begin(), values.end(), kind); };
    if (are([](const json::value& value) { return value.is_int64() || value.is_bool(); })) {
      add(name, all_of(values, whole));
    } else if (are([](const json::value& value) { return value.is_number() && !value.is_uint64(); })) {
      add(name, all_of(values, real));
    } else if (are([](const json::value& value) { return value.is_string(); })) {
      add(name, all_of(values, text));
    } else {
      const std::string whole_text = json::serialize(given);
      add(name, std::vector{as_bytes(whole_text)});
    }
  }
};

}  // namespace

bool for_each_member(ByteView record, const std::function<void(std::string_view, const JsonValues&)>& add) {
  const std::string_view given = as_chars(record);
  const std::size_t begin = given.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || given[begin] != '{') return false;
  json::error_code failed;
  const json::value value = json::parse(given, failed);
  if (failed || !value.is_object()) return false;
  Members members{add, {}};
  members.add_object(value.get_object(), {});
  return true;
}

}  // namespace dovetail::format
