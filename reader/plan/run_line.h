// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <dovetail/order.h>

#include "reader/plan/permutation.h"
#include "reader/plan/plan_facts.h"

namespace dovetail::detail {

/// The runs of all shards of a source, permuted and laid end to end: the line of `Assign::runs`.
///
/// Threads: const calls may run concurrently.
/// Cost:    memory for the shards; all runs but the last ones of shards have one length.
class RunLine {
 public:
  /// Needs: shards with one `run_records`, which `make_facts` has checked.
  RunLine(std::shared_ptr<const PlanFacts> facts, std::uint32_t source, const Draws& keys);

  /// Records of every run that is not the last one of its shard; no run has more.
  std::uint64_t run_records() const noexcept { return run_records_; }
  std::uint64_t runs() const noexcept { return order_.size(); }
  /// The run at a position, below `runs()`.
  Run run(std::uint64_t position) const noexcept;
  /// Records of the runs before a position, at most `runs()`.
  std::uint64_t records_before(std::uint64_t position) const noexcept;
  /// The run that holds a record of the line.
  std::uint64_t position_of(std::uint64_t record) const noexcept;

  /// A run that has fewer records.
  struct ShortRun {
    std::uint64_t position = 0;
    std::uint64_t records = 0;
    std::uint64_t missing = 0;  ///< In this run and the short ones before it.
  };
  /// By their positions.
  const std::vector<ShortRun>& short_runs() const noexcept { return short_runs_; }
  /// The first one at or behind a position.
  std::vector<ShortRun>::const_iterator first_short_run(std::uint64_t position) const noexcept;

 private:
  std::shared_ptr<const PlanFacts> facts_;
  std::uint32_t first_shard_;
  std::uint64_t run_records_ = 1;
  std::vector<std::uint64_t> first_run_;  // of each shard, in dataset order
  Permutation order_;
  std::vector<ShortRun> short_runs_;
};

}  // namespace dovetail::detail
