// SPDX-License-Identifier: Apache-2.0
#include "tools/command/json.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "format/text/utf8.h"
#include "format/text/visible.h"

namespace dovetail::tools {

std::string to_line(const boost::json::value& value) {
  return format::visible_json(boost::json::serialize(value)) + '\n';
}

boost::json::array texts_json(const std::vector<std::string>& texts) {
  boost::json::array array;
  for (const std::string& text : texts) array.push_back(boost::json::string(format::to_utf8(text)));
  return array;
}

Result<boost::json::value> parse_json(const std::string& text) {
  boost::system::error_code failure;
  boost::json::value value = boost::json::parse(text, failure);
  if (failure) return Error(Errc::bad_state, "it is not JSON: " + failure.message());
  return value;
}

JsonFields::JsonFields(const boost::json::value& value) : object_(value.if_object()) {
  if (object_ == nullptr) failure_ = "it is not a JSON object";
}

JsonFields& JsonFields::take(std::string_view name, bool& into) {
  const boost::json::value* const value = find(name);
  if (value == nullptr || !value->is_bool()) return fail(name, "is neither true nor false");
  into = value->get_bool();
  return *this;
}

JsonFields& JsonFields::take(std::string_view name, Hash128& into) {
  const auto hash = Hash128::from_hex(string(name));
  if (!hash) return fail(name, "is not an id of 32 hex digits");
  into = *hash;
  return *this;
}

const boost::json::value* JsonFields::find(std::string_view name) const {
  return object_ == nullptr ? nullptr : object_->if_contains(name);
}

JsonFields& JsonFields::fail(const std::string& failure) {
  if (failure_.empty()) failure_ = failure;
  return *this;
}

bool JsonFields::whole(std::string_view name, std::uint64_t& number) const {
  const boost::json::value* const value = find(name);
  if (value == nullptr) return false;
  boost::system::error_code failure;
  number = value->to_number<std::uint64_t>(failure);
  // Reject fractions and negative numbers.
  return !failure && !value->is_double();
}

std::string_view JsonFields::string(std::string_view name) const {
  const boost::json::value* const value = find(name);
  return value == nullptr || !value->is_string() ? std::string_view() : std::string_view(value->get_string());
}

}  // namespace dovetail::tools
