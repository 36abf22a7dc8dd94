// SPDX-License-Identifier: Apache-2.0
// What the open runs of a rank need: files and memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/plan.h>

namespace dovetail::detail {

/// The size of all records; nothing where they differ, or there is none.
std::optional<std::uint32_t> common_record_bytes(const Dataset& dataset);

/// Runs of a lane that are open at a time, at most, where the lanes share out these shards; docs/order.md has the rule.
std::uint64_t most_open_runs(const Plan& plan, std::span<const ShardShape> shards);

/// What the open runs of a rank take of memory.
struct OpenBytes {
  std::uint64_t pool = 0;     ///< For what pools keep of runs that have ended.
  std::uint64_t least = 0;    ///< All runs that may be open of one group,
  std::uint64_t most = 0;     ///< and of the next one, which is then read ahead.
  std::uint64_t of_each = 0;  ///< `most` for each of `open_runs`.
};
/// `places` says that large records are brought to their rows alone.
OpenBytes open_bytes(const Dataset& dataset, const Plan& plan, bool places);

/// How many shards may be open at a time, out of what the process may open.
/// Errors: `resource_limit` where that is too little for any plan.
Result<std::uint32_t> open_shard_limit(const Plan& plan, unsigned descriptors_per_shard);

/// Whether the open runs fit, which are in memory as a whole. Gives what to say, in the log, where the next ones have no room
/// beside them, and little is read ahead.
/// `whole_epochs` says that more is read than a few batches again and again.
/// Errors: `budget_too_small`, naming the open runs that fit, where these may not; not of whole files, of which a rank may
///         have few, nor of what a change of world has left of an epoch.
Result<std::string> check_open_runs(const Plan& plan, const OpenBytes& bytes, std::uint64_t read_ahead_bytes,
                                    bool whole_epochs);

}  // namespace dovetail::detail
