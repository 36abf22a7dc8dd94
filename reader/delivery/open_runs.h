// SPDX-License-Identifier: Apache-2.0
// Files and memory that the open runs of a rank need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/plan.h>

namespace dovetail::detail {

/// The size of all records; empty if they differ or there are none.
std::optional<std::uint32_t> common_record_bytes(const Dataset& dataset);

/// Read-ahead memory for the largest block, stored and decoded at the same time.
std::uint64_t largest_block(const Dataset& dataset);

/// Memory that the open runs of a rank need. With `OrderKind::global` only `most` is set: a block
/// for each lane, and in a mix for each source of each lane.
struct OpenBytes {
  std::uint64_t pool = 0;     ///< Spare room for the records of ended groups that pools still hold.
  std::uint64_t least = 0;    ///< The largest group of each lane.
  std::uint64_t most = 0;     ///< The same with the next group, which is read ahead.
  std::uint64_t of_each = 0;  ///< `most` per open run.
};
/// `places` is true if large records are read straight into their rows.
OpenBytes open_bytes(const Dataset& dataset, const Plan& plan, bool places);

/// Memory for the open runs, the next ones and the pool.
std::uint64_t wanted_run_bytes(const OpenBytes& bytes);

/// The most shards that may be open at a time, within the descriptor limit of the process.
/// Errors: `resource_limit` if that is too few for any plan.
Result<std::uint32_t> open_shard_limit(const Plan& plan, unsigned descriptors_per_shard);

/// Checks that the open runs fit the budget, since each is in memory as a whole. If they fit but
/// the next runs do not fit beside them, returns a warning for the log: little is read ahead then.
/// `whole_epochs` is false if the reader reads only the first batches and repeats them.
/// Errors: `budget_too_small`, naming the number of open runs that fits. Not with `Assign::files`,
///         where a rank may have few runs, and not for the rest of an epoch after a change of
///         world.
Result<std::string> check_open_runs(const Plan& plan, const OpenBytes& bytes, std::uint64_t read_ahead_bytes,
                                    bool whole_epochs);

}  // namespace dovetail::detail
