// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/system/errc.hpp>

#include <dovetail/error.h>

namespace dovetail::detail {

/// Whether an operation failed because this process lacks memory, threads or descriptors. The data
/// may be good, so `OnDamage` does not apply.
inline bool is_shortage(const Error& error) {
  namespace errc = boost::system::errc;
  return error.code() == errc::too_many_files_open || error.code() == errc::too_many_files_open_in_system ||
         error.code() == errc::not_enough_memory || error.code() == errc::resource_unavailable_try_again;
}

}  // namespace dovetail::detail
