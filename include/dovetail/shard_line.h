// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <dovetail/export.h>
#include <dovetail/plan.h>

namespace dovetail {

/// Consecutive records of a shard that a lane holds.
struct DOVETAIL_EXPORT LinePart {
  std::uint32_t source = 0;  ///< Source of a mix; else 0.
  std::uint32_t lane = 0;
  std::uint32_t shard = 0;  ///< Position in the dataset.
  std::uint64_t begin = 0;  ///< First record, in the shard.
  std::uint64_t end = 0;    ///< One past the last; above `begin`.

  friend bool operator==(const LinePart&, const LinePart&) = default;
};

/// The line of an epoch: its shards, concatenated in the order of this epoch and cut into lanes. In
/// a mix there is one line per source, for its first pass, source after source. The lanes are those
/// with which the epoch begins; after a change of world the plan has others. Empty with
/// `OrderKind::global` and `Assign::runs`, where every lane draws from all shards.
///
/// Cost:   proportional to shards and lanes.
/// Errors: those of `Plan::epoch`.
DOVETAIL_EXPORT Result<std::vector<LinePart>> shard_line(const Plan& plan, std::uint32_t epoch);

}  // namespace dovetail
