// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <stdexcept>
#include <string>

#include <boost/system/errc.hpp>

#include <dovetail/error.h>

namespace dovetail::detail {

/// The error with the file, if there is memory for that.
inline Error named(const Error& error, const std::string& path) noexcept {
  try {
    return error.in_file(path);
  } catch (const std::bad_alloc&) {
    return error;
  }
}

inline Error out_of_memory(const std::string& path) noexcept {
  return named(Error(boost::system::errc::make_error_code(boost::system::errc::not_enough_memory)), path);
}

/// Calls `work`, which returns a `Result`, and turns running out of memory into an error that names the file.
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
