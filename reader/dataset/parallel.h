// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include <dovetail/error.h>

namespace dovetail::detail {

/// Calls `work(i)` for every i below `count`, on up to `threads` threads including this one.
///
/// Indexes begin in ascending order, and none begins after a failure. The error returned is that of
/// the lowest index that failed, so it does not depend on timing.
/// Threads: `work` runs concurrently with itself. `std::bad_alloc` from it becomes an error. Other
///          exceptions end the loop like a failure, and are thrown again here.
Result<void> for_each_index(std::size_t count, unsigned threads, const std::function<Result<void>(std::size_t)>& work);

}  // namespace dovetail::detail
