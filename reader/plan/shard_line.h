// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reader/plan/lane_lengths.h"
#include "reader/plan/lane_runs.h"
#include "reader/plan/plan_facts.h"

namespace dovetail::detail {

/// One pass over a source in an epoch. Sources that are not mixed have one only, pass 0.
struct Pass {
  std::uint32_t epoch = 0;
  std::uint32_t source = 0;
  std::uint64_t number = 0;
};

/// The seed of a pass.
std::uint64_t pass_seed(const PlanFacts& facts, const Pass& pass) noexcept;
/// The draws that decide the line of a pass, for `Purpose::shards` or `Purpose::run_line`.
Draws line_draws(const PlanFacts& facts, const Pass& pass, Purpose purpose) noexcept;

/// The shards of a pass in their order, and what each lane holds of them. Not with `Assign::runs`.
///
/// Ownership: none of `facts`, which every call that needs them is given.
/// Threads:   const calls may run concurrently.
/// Cost:      memory for the shards.
class ShardLine {
 public:
  ShardLine(const PlanFacts& facts, std::uint32_t lanes, const Pass& pass);

  /// Records of the lanes that hold shards, which are the first. With `Assign::files` only; even lanes are a formula.
  std::vector<std::uint64_t> file_lanes() const;
  /// The parts of shards that a lane holds, in line order; none of them empty.
  std::vector<LanePiece> pieces(const PlanFacts& facts, std::uint32_t lane) const;

 private:
  void append_piece(const PlanFacts& facts, std::uint32_t shard, std::uint64_t begin, std::uint64_t end,
                    std::vector<LanePiece>& pieces) const;

  std::uint32_t lanes_;
  LaneLengths even_;                        // even: the lanes' cuts of the line
  std::vector<std::uint32_t> shards_;       // by position in the line
  std::vector<std::uint64_t> record_ends_;  // records of the line up to and with each position
};

}  // namespace dovetail::detail
