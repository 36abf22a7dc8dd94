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

/// What the order of a pass over a lane depends on beside its runs.
struct PassKey {
  std::uint64_t seed = 0;
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
  /// Calls `visit` with how many records they have, run after run.
  template <typename Visit>
  void for_each_length(std::uint64_t position, std::uint64_t end, Visit visit) const {
    auto odd = first_odd(position);
    for (; position < end; ++position) {
      const bool is_odd = odd != odd_runs_.end() && odd->position == position;
      visit(is_odd ? runs_.common_run() + odd->excess - excess_before(odd) : runs_.common_run());
      if (is_odd) ++odd;
    }
  }
  /// The order in which a run of so many records gives them. Cost: a draw.
  Stride deal(std::uint64_t position, std::uint64_t length) const noexcept;
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

  using OddIterator = std::vector<OddRun>::const_iterator;
  /// The first odd run at or behind a position.
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
