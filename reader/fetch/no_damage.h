// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/system/errc.hpp>

#include <dovetail/error.h>

namespace dovetail::detail {

/// Whether a read or an opening failed for a reason that says nothing about the data: the process
/// lacks memory, threads or descriptors, or the reader is being stopped. No policy on damage
/// applies.
inline bool is_no_damage(const Error& error) {
  namespace errc = boost::system::errc;
  return error.code() == errc::too_many_files_open || error.code() == errc::too_many_files_open_in_system ||
         error.code() == errc::not_enough_memory || error.code() == errc::resource_unavailable_try_again ||
         error.code() == errc::operation_canceled;
}

}  // namespace dovetail::detail
