// SPDX-License-Identifier: Apache-2.0
// What the open runs of a rank need: files and memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/plan.h>

namespace dovetail::detail {

/// Runs of a lane that are open at a time, at most, where the lanes share out these shards; docs/order.md has the rule.
std::uint64_t most_open_runs(const Plan& plan, std::span<const ShardShape> shards);

/// How many shards may be open: at least those of all runs that are open at a time.
/// Errors: `resource_limit` where the process may not open what the plan needs.
Result<std::uint32_t> open_shard_limit(const Plan& plan, unsigned descriptors_per_shard);

/// Whether the open runs fit: all of an open run is in use, and what has no room is read again and again. Gives what to say
/// of runs that may not fit, in the log; nothing where they do.
/// `whole_epochs` says that more is read than a few batches again and again.
/// Errors: `budget_too_small`, naming the open runs that fit, where these cannot, are more than 64 MiB, and are read whole:
///         not of whole files, of which a rank may have few, nor of what a change of world has left of an epoch.
Result<std::string> check_open_runs(const Dataset& dataset, const Plan& plan, std::uint64_t read_ahead_bytes,
                                    bool whole_epochs);

}  // namespace dovetail::detail
