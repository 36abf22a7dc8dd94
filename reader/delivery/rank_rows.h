// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <dovetail/error.h>
#include <dovetail/plan.h>
#include <dovetail/state.h>

#include "reader/delivery/reader_setup.h"
#include "reader/fetch/run_store.h"
#include "reader/fetch/shard_table.h"
#include "reader/fill/fill_rules.h"
#include "reader/walk/rank_walk.h"

namespace dovetail::detail {

/// The batches of a flight; or the end of an epoch, without batches.
struct FlightStart {
  std::shared_ptr<const State> origin;  ///< Base of the states after these batches.
  std::uint32_t epoch = 0;
  std::uint64_t step = 0;  ///< Step of the first batch.
  std::uint32_t batches = 0;
  std::uint32_t row_count = 0;
  bool end_of_epoch = false;
  std::uint64_t first_row = 0;  ///< Number of rows walked before this flight.
};

/// The rows of a rank, epoch after epoch, cut into flights.
///
/// Ownership: borrows its arguments.
/// Threads:   none; one thread walks at a time.
class RankRows {
 public:
  RankRows(const ReaderSetup& setup, const FillRules& rules, ShardTable& shards, RunStore& store);

  /// Sets the next batches, or the end of an epoch, in `flight`. False if all epochs are over.
  /// Errors: those of `Plan`.
  Result<bool> begin(FlightStart& flight);
  /// Continues the walk at row `from` of the flight that was begun last. Returns the number of rows
  /// walked, which is less than the rest only if runs are not ready.
  /// Errors: the walk can never continue.
  Result<std::uint32_t> walk(const FlightStart& flight, WalkedRows& rows, std::uint32_t from);

 private:
  struct Epoch {
    EpochPlan plan;
    std::unique_ptr<RankWalk> walk;
    std::shared_ptr<const State> origin;
    std::uint64_t next_step = 0;
  };
  Result<void> begin_epoch();

  const ReaderSetup& setup_;
  const FillRules& rules_;
  ShardTable& shards_;
  RunStore& store_;
  std::unique_ptr<Epoch> epoch_;
  std::uint32_t next_epoch_;
  std::uint64_t first_step_;  // of the next epoch
  bool last_epoch_ = false;
  std::uint64_t first_row_ = 0;  // of the next flight
};

}  // namespace dovetail::detail
