// SPDX-License-Identifier: Apache-2.0
// Files and memory that the open runs of a rank need.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/plan.h>

namespace dovetail::detail {

/// The size of all records; empty if they differ or there are none.
std::optional<std::uint32_t> common_record_bytes(const Dataset& dataset);

/// Most runs of a lane that are open at a time if the lanes divide these shards; docs/order.md has the rule.
std::uint64_t most_open_runs(const Plan& plan, std::span<const ShardShape> shards);

/// Memory that the open runs of a rank need.
struct OpenBytes {
  std::uint64_t pool = 0;     ///< Records that pools keep of ended runs.
  std::uint64_t least = 0;    ///< All runs of one group that may be open.
  std::uint64_t most = 0;     ///< The same with the next group, which is then read ahead.
  std::uint64_t of_each = 0;  ///< `most` for each of `open_runs`.
};
/// `places`: large records are read straight into their rows.
OpenBytes open_bytes(const Dataset& dataset, const Plan& plan, bool places);

/// Most shards that may be open at a time, within the descriptor limit of the process.
/// Errors: `resource_limit` if that is too few for any plan.
Result<std::uint32_t> open_shard_limit(const Plan& plan, unsigned descriptors_per_shard);

/// Checks that the open runs, which are in memory whole, fit the budget. Returns a text for the log if there is no room
/// for the next runs beside them, so that little is read ahead.
/// `whole_epochs` is false if only a few batches are read, again and again.
/// Errors: `budget_too_small`, naming the open runs that fit. Not checked for whole files, of which a rank may have
///         few, and for the rest of an epoch after a change of world.
Result<std::string> check_open_runs(const Plan& plan, const OpenBytes& bytes, std::uint64_t read_ahead_bytes,
                                    bool whole_epochs);

}  // namespace dovetail::detail
