// SPDX-License-Identifier: Apache-2.0
#include "format/text/json_members.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "format/text/utf8.h"
#include "format/try.h"

namespace dovetail::format {
namespace {

namespace json = boost::json;

using AddMember = std::function<void(std::string_view, const JsonValues&)>;

constexpr std::size_t kShownName = 60;

std::int64_t whole(const json::value& value) {
  return value.is_bool() ? static_cast<std::int64_t>(value.get_bool()) : value.get_int64();
}

double real(const json::value& value) {
  const auto number = value.to_number<double>();
  // The parser may be off by the last bit, so ask for what the nearest float is.
  const bool fits = std::abs(number) < 0x1.ffffffp127;
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

bool has_value(const json::value& value) {
  const json::array* const list = value.if_array();
  return !value.is_null() && (list == nullptr || !list->empty());
}

// Calls `visit` for each member that has a value. `name` is the path so far, and the same after the
// call. It is one string for all members.
template <class Visit>
void visit_members(const json::object& object, std::string& name, const Visit& visit) {
  const std::size_t prefix = name.size();
  for (const auto& [key, value] : object) {
    name.append(key.data(), key.size());
    const json::object* const inner = value.if_object();
    if (inner != nullptr) {
      name += '.';
      visit_members(*inner, name, visit);
    } else if (has_value(value)) {
      visit(std::as_const(name), value);
    }
    name.resize(prefix);
  }
}

// Returns whether no nested member with a value has a name above the limit: each member repeats the
// names around it, which would take the square of the record's length in time.
bool names_fit(const json::object& object, std::size_t prefix) {
  return std::all_of(object.begin(), object.end(), [prefix](const auto& member) {
    const std::size_t bytes = prefix + member.key().size();
    if (const json::object* const inner = member.value().if_object()) return names_fit(*inner, bytes + 1);
    return prefix == 0 || bytes <= kMaxNestedNameBytes || !has_value(member.value());
  });
}

// Only a nested member can have the name of another one. Hashes of the names suffice: of two that
// are equal by accident, one would be refused in 2^64.
Result<void> check_names(const json::object& object) {
  if (std::none_of(object.begin(), object.end(), [](const auto& member) { return member.value().is_object(); })) {
    return {};
  }
  if (!names_fit(object, 0)) {
    return Error(Errc::malformed_input,
                 "the name of a nested member has more than " + std::to_string(kMaxNestedNameBytes) + " bytes");
  }
  std::vector<std::size_t> hashes;
  std::string name;
  visit_members(object, name, [&](const std::string& found, const json::value&) {
    hashes.push_back(std::hash<std::string>()(found));
  });
  std::sort(hashes.begin(), hashes.end());
  const auto twice = std::adjacent_find(hashes.begin(), hashes.end());
  if (twice == hashes.end()) return {};
  std::string shown;
  visit_members(object, name, [&](const std::string& found, const json::value&) {
    if (std::hash<std::string>()(found) == *twice) shown = shortened(found, kShownName);
  });
  return Error(Errc::malformed_input, "two members are named \"" + shown + "\": one has the dot in its own name");
}

void add_member(const std::string& name, const json::value& given, const AddMember& add) {
  const json::array* const list = given.if_array();
  const auto values = list != nullptr ? std::span(list->data(), list->size()) : std::span(&given, 1);
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

}  // namespace

Result<bool> for_each_member(ByteView record, const AddMember& add) {
  const std::string_view given = as_chars(record);
  const std::size_t begin = given.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || given[begin] != '{') return false;
  boost::system::error_code failed;
  std::array<unsigned char, 8192> buffer;
  json::monotonic_resource room(buffer.data(), buffer.size());
  const json::value value = json::parse(given, failed, &room);
  if (failed || !value.is_object()) return false;
  const json::object& object = value.get_object();
  DOVETAIL_TRY(check_names(object));
  std::string name;
  visit_members(object, name,
                [&](const std::string& found, const json::value& member) { add_member(found, member, add); });
  return true;
}

}  // namespace dovetail::format
