// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/error.h>

struct io_uring;

namespace dovetail::detail {

/// Opens a ring and checks that the kernel has the operations that reading needs. Only the calling
/// thread may use the ring, and it must close it with `io_uring_queue_exit`.
///
/// Errors: `resource_limit`, naming the obstacle and the remedy.
Result<void> open_ring(unsigned entries, ::io_uring& ring);

}  // namespace dovetail::detail
