// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/error.h>

struct io_uring;

namespace dovetail::detail {

/// Opens a ring and makes sure that the kernel knows the operations that reading needs. The calling thread is the only
/// one that may use the ring; it closes it with `io_uring_queue_exit`.
///
/// Errors: `resource_limit`, naming what stands in the way and what to do.
Result<void> open_ring(unsigned entries, ::io_uring& ring);

}  // namespace dovetail::detail
