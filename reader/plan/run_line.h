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
/// Cost:    memory for the shards. Only the last run of a shard may be shorter than the others.
class RunLine {
 public:
  /// Needs: all shards have one `run_records`; `make_facts` has checked that.
  RunLine(std::shared_ptr<const PlanFacts> facts, std::uint32_t source, const Draws& keys);

  /// The records of every run except the last run of a shard, which may have fewer.
  std::uint64_t run_records() const noexcept { return run_records_; }
  std::uint64_t runs() const noexcept { return order_.size(); }
  /// The run at `position`, below `runs()`.
  Run run(std::uint64_t position) const noexcept;
  /// The records of all runs before `position`, which is at most `runs()`.
  std::uint64_t records_before(std::uint64_t position) const noexcept;
  /// The position of the run that holds `record`, counted along the line.
  std::uint64_t position_of(std::uint64_t record) const noexcept;

  /// A run with fewer than `run_records()` records.
  struct ShortRun {
    std::uint64_t position = 0;
    std::uint64_t records = 0;
    std::uint64_t missing = 0;  ///< Records missing in this and all earlier short runs.
  };
  /// Ascending by position.
  const std::vector<ShortRun>& short_runs() const noexcept { return short_runs_; }
  /// The first short run at or after `position`.
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
