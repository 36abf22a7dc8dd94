// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <dovetail/order.h>

#include "reader/plan/draws.h"
#include "reader/plan/permutation.h"

namespace dovetail::detail {

/// Consecutive records of one shard that a lane holds, and the runs that they are cut into.
struct Piece {
  std::uint64_t first_run = 0;    ///< Number of its first run in the lane's line; set by `PassLayout`.
  std::uint64_t begin = 0;        ///< First record, in the shard.
  std::uint64_t end = 0;          ///< Past the last record; above `begin`.
  std::uint64_t run_records = 1;  ///< Runs end at its multiples; at most the shard's records, so that sums stay small.
  std::uint64_t shard_id = 0;     ///< Dataset id of the shard's record 0.
  std::uint32_t shard = 0;

  std::uint64_t runs() const noexcept { return (end - 1) / run_records - begin / run_records + 1; }
  /// Run `index` of the piece, below `runs()`.
  Run run(std::uint64_t index) const noexcept;
};

/// What the order of a pass over a lane depends on beside its pieces.
struct PassKey {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint32_t lane = 0;
  bool shuffled = true;         ///< False: pieces in line order, one record after the other.
  std::uint32_t open_runs = 1;  ///< At least 1.
  std::uint32_t pool = 1;       ///< At least 1.
};

/// Runs of one length.
struct RunCount {
  std::uint64_t records = 1;  ///< In each.
  std::uint64_t runs = 0;
};

/// Counts more runs. Neighbours of one length, as they mostly are, share an entry.
void add_runs(std::vector<RunCount>& counts, const RunCount& more);
/// The length that most runs have, and how many they are. Cost: one sort, which reorders `counts`.
RunCount most_common_run(std::vector<RunCount>& counts);

/// The static part of the order of one pass over a lane: its runs in the order in which they are opened, the groups of runs that are
/// interleaved, and the keys of its pool.
///
/// Threads: const calls may run concurrently.
/// Cost:    memory for the pieces, and for every run whose length is not the most common one. Shards with one run
///          length have at most two such runs each; a lane that mixes shards of several run lengths stores every run
///          of the less common lengths.
class PassLayout {
 public:
  PassLayout(std::vector<Piece> pieces, const PassKey& key);

  std::uint64_t records() const noexcept { return records_; }
  std::uint64_t runs() const noexcept { return order_.size(); }
  const std::vector<Piece>& pieces() const noexcept { return pieces_; }

  /// The run opened as number `position`, below `runs()`.
  Run run(std::uint64_t position) const noexcept;
  /// Records of the runs opened as numbers [begin, end). Cheaper than looking at each run.
  void run_lengths(std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& lengths) const;

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
  /// A run whose length is not `common_run_`.
  struct OddRun {
    std::uint64_t position = 0;
    /// What this run and the odd ones before it have more than as many common ones; modulo 2^64, since it may be less.
    std::uint64_t excess = 0;
  };

  void find_odd_runs();
  void add_odd_run(const Piece& piece, std::uint64_t index);
  std::vector<OddRun>::const_iterator first_odd_run(std::uint64_t position) const noexcept;
  std::uint64_t excess_before(std::vector<OddRun>::const_iterator odd) const noexcept;
  std::uint64_t records_before(std::uint64_t position) const noexcept;

  std::vector<Piece> pieces_;
  std::vector<OddRun> odd_runs_;  // by position
  std::uint64_t common_run_ = 1;
  std::uint64_t records_ = 0;
  std::uint64_t groups_ = 0;
  std::uint32_t pool_ = 0;
  Permutation order_;
  Permutation drain_;
  Draws pool_draws_;
};

}  // namespace dovetail::detail
