// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/error.h>

namespace dovetail::detail {

/// The error of a call on an object that was moved from.
inline Error moved_from() {
  return Error(Errc::closed, "the object was moved from");
}

}  // namespace dovetail::detail
