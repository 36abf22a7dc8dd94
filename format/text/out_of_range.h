// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string>

#include <dovetail/error.h>

namespace dovetail::format {

/// The error of an option whose value is not allowed.
template <std::integral Value>
Error out_of_range(const std::string& option, Value value, const std::string& allowed) {
  return Error(Errc::invalid_option, option + " = " + std::to_string(value) + " is out of range: " + allowed);
}

/// Checks that an option lies within [first, last].
template <std::integral Value>
Result<void> check_range(const std::string& option, Value value, Value first, Value last) {
  if (value >= first && value <= last) return {};
  return out_of_range(option, value, std::to_string(first) + " to " + std::to_string(last));
}

/// Checks the number of a CUDA device; -1 is the current one.
inline Result<void> check_device(int device) {
  if (device >= -1) return {};
  return out_of_range("device", device, "give a CUDA device number, from 0, or -1 for the current device");
}

}  // namespace dovetail::format
