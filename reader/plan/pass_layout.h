// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <dovetail/order.h>

#include "reader/plan/draws.h"
#include "reader/plan/lane_runs.h"
#include "reader/plan/permutation.h"
#include "reader/plan/stride.h"

namespace dovetail::detail {

/// The parameters that, with its runs, determine the order of a pass over a lane.
struct PassKey {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint32_t lane = 0;
  bool shuffled = true;  ///< False: runs in line order, and the records of each run in order.
  /// The least number of runs in a group, at least 1. A lane with fewer runs has one group.
  std::uint32_t open_runs = 1;
  std::uint32_t pool = 1;  ///< At least 1.
};

/// The static part of the order of one pass over a lane: the order in which its runs are opened,
/// the groups of interleaved runs, and the keys of its pool.
///
/// Threads: const calls may run concurrently.
/// Cost:    memory for the lane's runs, and for every run whose length is not the most common one.
///          Shards with one run length have at most two such runs each; a lane that mixes shards of
///          several run lengths stores every run of the less common lengths.
class PassLayout {
 public:
  PassLayout(LaneRuns runs, const PassKey& key);

  std::uint64_t records() const noexcept { return runs_.records(); }
  std::uint64_t runs() const noexcept { return order_.size(); }

  /// The run opened as number `position`, below `runs()`.
  Run run(std::uint64_t position) const noexcept { return runs_.run(order_(position)); }
  /// Calls `visit` with the number of records of each run opened as number [`position`, `end`).
  template <typename Visit>
  void for_each_length(std::uint64_t position, std::uint64_t end, Visit visit) const {
    auto odd = first_odd(position);
    for (; position < end; ++position) {
      const bool is_odd = odd != odd_runs_.end() && odd->position == position;
      visit(is_odd ? runs_.common_run() + odd->excess - excess_before(odd) : runs_.common_run());
      if (is_odd) ++odd;
    }
  }
  /// The order in which the run opened as number `position`, of `length` records, gives them. Cost:
  /// one block of Philox.
  Stride deal(std::uint64_t position, std::uint64_t length) const noexcept;
  /// The turn at which the run opened as number `position` begins its pause, in a group of `turns`
  /// turns.
  std::uint64_t pause(std::uint64_t position, std::uint64_t turns) const noexcept;

  /// The number of groups.
  std::uint64_t groups() const noexcept { return groups_; }
  /// Position of the first run of a group; `runs()` for `groups()`.
  std::uint64_t group_begin(std::uint64_t group) const noexcept;
  /// The inputs of the pool before the first input of `group`; `records()` for `groups()`.
  std::uint64_t inputs_before(std::uint64_t group) const noexcept { return records_before(group_begin(group)); }
  /// The group that holds `input`, which is below `records()`.
  std::uint64_t group_of(std::uint64_t input) const noexcept;
  /// The number of runs of the largest group.
  std::uint64_t largest_group() const noexcept;

  /// Slots of the pool, at most `records()`. 0 stands for 1: such a pool passes every record on at
  /// once.
  std::uint32_t pool() const noexcept { return pool_; }
  const Draws& pool_draws() const noexcept { return pool_draws_; }
  /// The order in which the slots are emptied at the end of the pass.
  const Permutation& drain() const noexcept { return drain_; }

 private:
  /// A run whose length is not the common one.
  struct OddRun {
    std::uint64_t position = 0;
    /// How many more records this and all earlier odd runs have than runs of the common length
    /// would. Modulo 2^64, because the difference may be negative.
    std::uint64_t excess = 0;
  };

  using OddIterator = std::vector<OddRun>::const_iterator;
  /// The first odd run at or after `position`.
  OddIterator first_odd(std::uint64_t position) const noexcept;
  std::uint64_t excess_before(OddIterator odd) const noexcept {
    return odd == odd_runs_.begin() ? 0 : (odd - 1)->excess;
  }
  std::uint64_t records_before(std::uint64_t position) const noexcept;

  LaneRuns runs_;
  bool shuffled_;
  std::vector<OddRun> odd_runs_;  // by position
  std::uint64_t groups_ = 0;
  std::uint32_t pool_ = 0;
  Permutation order_;
  Permutation drain_;
  Draws pool_draws_;
  Draws stride_draws_;
  Draws pause_draws_;
};

}  // namespace dovetail::detail
