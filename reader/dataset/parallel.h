// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include <dovetail/error.h>

namespace dovetail::detail {

/// Calls `work(i)` for every i below `count`, on up to `threads` threads including this one.
///
/// Numbers are begun in ascending order and none after a failure, so the error returned, that of
/// the lowest number that failed, does not depend on timing.
/// Threads: `work` runs concurrently with itself. It may run out of memory, which becomes an error.
///          Another exception ends the pass as a failure does, and is thrown again here.
Result<void> for_each_index(std::size_t count, unsigned threads, const std::function<Result<void>(std::size_t)>& work);

}  // namespace dovetail::detail
