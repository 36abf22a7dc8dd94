// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <dovetail/order.h>

#include "reader/plan/run_line.h"

namespace dovetail::detail {

/// Consecutive records of one shard that a lane holds, and the runs that they are cut into.
struct LanePiece {
  std::uint64_t first_run = 0;  ///< Its first run, as a number in the lane; set by `LaneRuns`.
  std::uint64_t begin = 0;      ///< First record, in the shard.
  std::uint64_t end = 0;        ///< Past the last record; above `begin`.
  /// Runs end at multiples of this. At most the records of the shard, so that sums do not overflow.
  std::uint64_t run_records = 1;
  std::uint64_t shard_id = 0;  ///< Dataset id of the shard's record 0.
  std::uint32_t shard = 0;

  std::uint64_t runs() const noexcept { return (end - 1) / run_records - begin / run_records + 1; }
  /// Run `index` of the piece, below `runs()`.
  Run run(std::uint64_t index) const noexcept;
};

/// Consecutive records of one shard.
struct ShardPart {
  std::uint32_t shard = 0;
  std::uint64_t first_id = 0;
  std::uint64_t count = 0;
};

/// Runs of one length.
struct RunCount {
  std::uint64_t records = 1;  ///< In each.
  std::uint64_t runs = 0;
};

/// Adds `more` to `counts`. Adjacent entries of one length are merged; most shards have one length.
void add_runs(std::vector<RunCount>& counts, const RunCount& more);
/// The most common run length, and the number of runs that have it. Cost: one sort, which reorders
/// `counts`.
RunCount most_common_run(std::vector<RunCount>& counts);

/// The runs of a lane in line order: the runs of parts of shards, or a range of the permuted runs
/// of all shards.
///
/// Threads: const calls may run concurrently.
/// Cost:    memory for the pieces. A range of permuted runs shares its line.
class LaneRuns {
 public:
  explicit LaneRuns(std::vector<LanePiece> pieces);
  /// The records [begin, end) of a line.
  LaneRuns(std::shared_ptr<const RunLine> line, std::uint64_t begin, std::uint64_t end);

  std::uint64_t runs() const noexcept { return runs_; }
  std::uint64_t records() const noexcept { return records_; }
  /// Run `number` in line order, below `runs()`.
  Run run(std::uint64_t number) const noexcept;
  /// Calls `visit(ShardPart)` for the parts of shards that the runs cover, in line order.
  /// Cost: with permuted runs, one call for each run.
  template <typename Visit>
  void for_each_part(Visit visit) const {
    for (const LanePiece& piece : pieces_) {
      visit(ShardPart{piece.shard, piece.shard_id + piece.begin, piece.end - piece.begin});
    }
    for (std::uint64_t number = 0; line_ != nullptr && number < runs_; ++number) {
      const Run run = this->run(number);
      visit(ShardPart{run.shard, run.first_id, run.count});
    }
  }

  /// A run whose length is not `common_run()`.
  struct OddRun {
    std::uint64_t number = 0;
    std::uint64_t records = 0;
  };
  std::uint64_t common_run() const noexcept { return common_run_; }
  /// Ascending by number.
  std::vector<OddRun> odd_runs() const;

 private:
  std::vector<LanePiece> pieces_;
  std::shared_ptr<const RunLine> line_;
  std::uint64_t first_position_ = 0;  // position in the line of the lane's first run
  std::uint64_t cut_front_ = 0;       // records of the first run that belong to the lane before
  std::uint64_t last_records_ = 0;    // records of the last run that belong to this lane
  std::uint64_t runs_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t common_run_ = 1;
};

}  // namespace dovetail::detail
