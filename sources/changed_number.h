// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "format/text/number_text.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"

namespace dovetail::detail {

/// The first number of a record that a float changes noticeably: a time, an id or an amount rather
/// than the usual rounding of a fraction.
class ChangedNumber {
 public:
  void clear() noexcept { found_ = false; }
  /// Needs: `value` is not an infinity of the source, unless it is beyond the range of a float.
  void look_at(std::string_view name, double value) {
    constexpr double kLeast = 16'777'216;  // 2^24, up to which a float holds every whole number
    const auto stored = static_cast<float>(value);
    if (found_ || !(std::fabs(value) >= kLeast) || (static_cast<double>(stored) == value && !std::isinf(value))) return;
    found_ = true;
    name_ = name;
    value_ = value;
  }
  /// See `RecordSource::changed_number`.
  std::string to_text() const {
    constexpr std::size_t kMostShown = 60;
    if (!found_) return {};
    const std::string name = '"' + format::visible(format::shortened(name_, kMostShown)) + '"';
    if (std::isinf(value_)) return name + " is beyond the range of a float, stored as " + format::shortest(value_);
    constexpr double kAllDigits = 1e18;                // below the limit of int64
    const double stored = static_cast<float>(value_);  // whole
    return name + " is " + format::shortest(value_) + ", stored as " +
           (std::fabs(stored) < kAllDigits ? std::to_string(static_cast<std::int64_t>(stored))
                                           : format::shortest(stored));
  }

 private:
  bool found_ = false;
  double value_ = 0;
  std::string name_;
};

}  // namespace dovetail::detail
