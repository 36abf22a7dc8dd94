// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <dovetail/order.h>

#include "reader/plan/draws.h"
#include "reader/plan/lane_runs.h"
#include "reader/plan/permutation.h"
#include "reader/plan/run_deal.h"

namespace dovetail::detail {

/// What the order of a pass over a lane depends on beside its runs.
struct PassKey {
  std::uint64_t seed = 0;
  std::uint64_t first_id = 0;  ///< Of the source.
  std::uint32_t epoch = 0;
  std::uint32_t lane = 0;
  bool shuffled = true;         ///< False: runs in line order, one record after the other.
  std::uint32_t open_runs = 1;  ///< In a group, at least, where there are so many; at least 1.
  std::uint32_t pool = 1;       ///< At least 1.
};

/// The static part of the order of one pass over a lane: its runs in the order in which they are opened, the groups of
/// runs that are interleaved, and the keys of its pool.
///
/// Threads: const calls may run concurrently.
/// Cost:    memory for the lane's runs, and for every run whose length is not the most common one. Shards with one run
///          length have at most two such runs each; a lane that mixes shards of several run lengths stores every run
///          of the less common lengths.
class PassLayout {
 public:
  PassLayout(LaneRuns runs, const PassKey& key);

  std::uint64_t records() const noexcept { return runs_.records(); }
  std::uint64_t runs() const noexcept { return order_.size(); }

  /// The run opened as number `position`, below `runs()`.
  Run run(std::uint64_t position) const noexcept { return runs_.run(order_(position)); }
  /// The order in which it gives its records.
  RunDeal deal(std::uint64_t position) const noexcept;
  /// The words that decide in which order the runs of a group give their chunks.
  using GroupWords = std::pair<std::uint64_t, std::uint64_t>;
  GroupWords words_of(std::uint64_t group) const noexcept { return group_draws_.pair(group); }
  /// The order of a run, which is number `in_group` of its group.
  RunDeal deal(const Run& run, const GroupWords& words, std::uint64_t in_group) const noexcept;
  /// The turn with which the pause of a run begins that is opened as number `position`, of a group of so many turns.
  std::uint64_t pause(std::uint64_t position, std::uint64_t turns) const noexcept;

  /// Groups of runs that are open together.
  std::uint64_t groups() const noexcept { return groups_; }
  /// Position of the first run of a group; `runs()` for `groups()`.
  std::uint64_t group_begin(std::uint64_t group) const noexcept;
  /// Inputs of the pool before the first of `group`; `records()` for `groups()`.
  std::uint64_t inputs_before(std::uint64_t group) const noexcept { return records_before(group_begin(group)); }
  /// The group that holds an input, below `records()`.
  std::uint64_t group_of(std::uint64_t input) const noexcept;
  /// The most runs that a group has.
  std::uint64_t largest_group() const noexcept;

  /// Slots of the pool; at most `records()`. 0 instead of 1: such a pool gives every record back at once.
  std::uint32_t pool() const noexcept { return pool_; }
  const Draws& pool_draws() const noexcept { return pool_draws_; }
  /// The slots in the order in which they are emptied at the end.
  const Permutation& drain() const noexcept { return drain_; }

 private:
  /// A run whose length is not the common one.
  struct OddRun {
    std::uint64_t position = 0;
    /// What this run and the odd ones before it have more than as many common ones; modulo 2^64, since it may be less.
    std::uint64_t excess = 0;
  };

  std::uint64_t records_before(std::uint64_t position) const noexcept;

  LaneRuns runs_;
  std::uint64_t first_id_;
  bool shuffled_;
  std::vector<OddRun> odd_runs_;  // by position
  std::uint64_t groups_ = 0;
  std::uint32_t pool_ = 0;
  Permutation order_;
  Permutation drain_;
  Draws pool_draws_;
  Draws group_draws_;
  Draws chunk_draws_;
  Draws pause_draws_;
};

}  // namespace dovetail::detail
