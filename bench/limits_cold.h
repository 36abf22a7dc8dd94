// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/job.h"

namespace dovetail::bench {

/// Reads every piece of this rank's shards once, at most for `job.seconds`, in random order with 32
/// reads in flight: runs of 64 KiB, or where a block is one record, blocks.
void cold_threads(const Job& job, Outcome& outcome);
/// The same past the page cache.
void cold_direct(const Job& job, Outcome& outcome);

}  // namespace dovetail::bench
