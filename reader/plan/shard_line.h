// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reader/plan/lane_layout.h"
#include "reader/plan/plan_facts.h"

namespace dovetail::detail {

/// The shards of an epoch in their order, and what each lane holds of them.
///
/// Ownership: none of `facts`, which every call that needs them is given.
/// Threads:   const calls may run concurrently.
/// Cost:      memory for the shards.
class ShardLine {
 public:
  ShardLine(const PlanFacts& facts, std::uint32_t epoch);

  LaneSizes sizes(const PlanFacts& facts) const noexcept;
  std::uint64_t lane_records(const PlanFacts& facts, std::uint32_t lane) const noexcept;
  /// The parts of shards that a lane holds, in line order; none of them empty.
  std::vector<Piece> pieces(const PlanFacts& facts, std::uint32_t lane) const;

 private:
  void append_piece(const PlanFacts& facts, std::uint32_t shard, std::uint64_t begin, std::uint64_t end,
                    std::vector<Piece>& pieces) const;

  std::vector<std::uint32_t> shards_;        // by position in the line
  std::vector<std::uint64_t> record_ends_;   // even: records of the line up to and with each position
  std::vector<std::uint64_t> lane_records_;  // files: of each lane that has a shard
};

/// Sizes of the lanes of `Assign::even`, which are the same in every epoch.
LaneSizes even_sizes(const PlanFacts& facts) noexcept;

}  // namespace dovetail::detail
