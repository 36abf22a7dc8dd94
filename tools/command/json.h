// SPDX-License-Identifier: Apache-2.0
// JSON lines for output, and JSON from files that are not trusted.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "format/text/words.h"

namespace dovetail::tools {

/// One line of JSON with its newline, safe for a terminal (format/text/visible.h). Keys keep the
/// order in which they were added.
std::string to_line(const boost::json::value& value);

/// Texts as an array; what is not UTF-8 in them is replaced.
boost::json::array texts_json(const std::vector<std::string>& texts);

/// Parses a text. Errors: `bad_state` for text that is not JSON.
Result<boost::json::value> parse_json(const std::string& text);

/// Copies fields of a JSON object to variables. Keeps the first missing or wrong field as the
/// failure. The variable of such a field keeps its value.
///
/// Ownership: borrows the value.
class JsonFields {
 public:
  explicit JsonFields(const boost::json::value& value);

  /// A whole number in the range of `Number`.
  template <std::unsigned_integral Number>
  requires(!std::same_as<Number, bool>) JsonFields& take(std::string_view name, Number& into) {
    std::uint64_t number = 0;
    if (!whole(name, number) || number > std::numeric_limits<Number>::max())
      return fail(name, "is not a number in range");
    into = static_cast<Number>(number);
    return *this;
  }
  JsonFields& take(std::string_view name, bool& into);
  JsonFields& take(std::string_view name, Hash128& into);
  /// One of several words.
  template <class Value, std::size_t kCount>
  JsonFields& take(std::string_view name, const format::Words<Value, kCount>& words, Value& into) {
    const std::optional<Value> value = format::value_of(words, string(name));
    if (!value) return fail(name, "has an unknown word");
    into = *value;
    return *this;
  }

  /// The field; null if there is none.
  const boost::json::value* find(std::string_view name) const;
  JsonFields& fail(const std::string& failure);
  /// Empty if there was no failure.
  const std::string& failure() const noexcept { return failure_; }

 private:
  JsonFields& fail(std::string_view name, std::string_view why) {
    return fail(std::string(name) + ' ' + std::string(why));
  }
  bool whole(std::string_view name, std::uint64_t& number) const;
  /// The text of a field; empty if there is none.
  std::string_view string(std::string_view name) const;

  const boost::json::object* object_;
  std::string failure_;
};

}  // namespace dovetail::tools
