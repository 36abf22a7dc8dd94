// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <boost/system/system_error.hpp>

#include <dovetail/error.h>

namespace dovetail::detail {

inline Error out_of_memory(const std::string& path) noexcept {
  return Error::from_errno(ENOMEM).in_file(path);
}

/// Returns the error that an exception carries. An exception of the standard library or of Boost
/// becomes the error code of the system, or ENOMEM if it has none. Its text is kept if there is
/// memory for it.
inline Error error_from(const std::exception& failure) noexcept {
  if (const auto* const ours = dynamic_cast<const Exception*>(&failure)) return ours->error();
  int number = ENOMEM;
  const auto take = [&](const auto& code, const auto& generic, const auto& system) {
    if (code.category() == generic || code.category() == system) number = code.value();
  };
  if (const auto* const of_standard = dynamic_cast<const std::system_error*>(&failure)) {
    take(of_standard->code(), std::generic_category(), std::system_category());
  } else if (const auto* const of_boost = dynamic_cast<const boost::system::system_error*>(&failure)) {
    take(of_boost->code(), boost::system::generic_category(), boost::system::system_category());
  }
  try {
    return Error::from_errno(number, failure.what());
  } catch (const std::exception&) {
    return Error(boost::system::error_code(number, boost::system::system_category()));
  }
}

/// Calls `work`, which returns a `Result`. Turns running out of memory into an error that names the
/// file.
template <class Work>
auto guard_memory(const std::string& path, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return out_of_memory(path);
  } catch (const std::length_error&) {
    return out_of_memory(path);
  }
}

}  // namespace dovetail::detail
