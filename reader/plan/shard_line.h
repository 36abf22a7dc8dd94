// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reader/plan/lane_lengths.h"
#include "reader/plan/lane_runs.h"
#include "reader/plan/plan_facts.h"

namespace dovetail::detail {

/// One pass over a source in an epoch. Without a mix there is one pass, number 0.
struct Pass {
  std::uint32_t epoch = 0;
  std::uint32_t source = 0;
  std::uint64_t number = 0;
};

/// The seed of a pass.
std::uint64_t pass_seed(const PlanFacts& facts, const Pass& pass) noexcept;
/// The draws that decide the line of a pass. `purpose` is `Purpose::shards` or `Purpose::run_line`.
Draws line_draws(const PlanFacts& facts, const Pass& pass, Purpose purpose) noexcept;

/// The shards of a pass in line order, and the part of them that each lane holds. Not for
/// `Assign::runs`.
///
/// Ownership: does not keep `facts`; calls that need it take it as an argument.
/// Threads:   const calls may run concurrently.
/// Cost:      memory for the shards.
class ShardLine {
 public:
  ShardLine(const PlanFacts& facts, std::uint32_t lanes, const Pass& pass);

  /// The number of records of each lane that holds shards; these are the first lanes. Only for
  /// `Assign::files`, because even lanes follow a formula.
  std::vector<std::uint64_t> file_lanes() const;
  /// The parts of shards that a lane holds, in line order; none of them empty.
  std::vector<LanePiece> pieces(const PlanFacts& facts, std::uint32_t lane) const;

 private:
  void append_piece(const PlanFacts& facts, std::uint32_t shard, std::uint64_t begin, std::uint64_t end,
                    std::vector<LanePiece>& pieces) const;

  std::uint32_t lanes_;
  LaneLengths even_;                        // how even lanes cut the line
  std::vector<std::uint32_t> shards_;       // by position in the line
  std::vector<std::uint64_t> record_ends_;  // records of the line up to the end of each position
};

}  // namespace dovetail::detail
