// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <dovetail/batch_reader.h>

#include "reader/delivery/lane_feed.h"
#include "reader/delivery/residency.h"
#include "reader/delivery/slab.h"
#include "reader/delivery/step.h"
#include "reader/fetch/shard_table.h"
#include "reader/memory/slot_ring.h"

namespace dovetail::detail {

/// Turns the plan into steps, in chunks, ahead of reading: the one place where the order meets files, extents and the
/// budget. Rows know where their bytes come from; or, where all records of a shard have one size, bytes know where they
/// go: the step is laid out in a slot at once, and each load gets the destinations of its records, to scatter them as soon
/// as they are decoded. A load may begin once it is sealed, which fixes its destinations.
///
/// Threads: none; one thread at a time. Cost: no allocation per row.
class Planner {
 public:
  struct Settings {
    Dataset dataset;
    Plan plan;
    ReaderOptions options;
    ExtentRules extents;
    std::uint64_t read_ahead_bytes = 0;
    std::uint32_t max_open_shards = 0;
    std::uint64_t rows_at_once = kRowsAtOnce;
    std::uint32_t batches_per_step = 1;  ///< That share a slot; fewer where the epoch ends, or for the sake of shards.
    std::size_t slab_bytes = 0;          ///< Of each.
    SlotRing* scatter_into = nullptr;    ///< Steps are laid out in its slots, where it is set.
  };
  Planner(const Settings& settings, ShardTable& shards);
  ~Planner();

  /// Rows that are worth a call, at least.
  static constexpr std::uint64_t kRowsAtOnce = 1024;

  /// How planning ended for now.
  enum class Outcome : std::uint8_t {
    more,     ///< There is more to plan.
    blocked,  ///< A shard has to open first.
    all,      ///< Nothing comes any more.
  };
  /// Appends the next steps to `out`: about `rows_at_once` rows, at least one step unless it is blocked or all is planned,
  /// and seals the loads that no further row needs. With `cold`, lists the runs that they begin with as coming.
  /// Needs: a free slot, where steps are laid out.
  Outcome plan(bool cold, std::vector<std::unique_ptr<Step>>& out);
  /// Seals all loads: planning cannot go on for now, and steps wait for them.
  void seal();
  /// All loads with lower numbers are sealed.
  std::uint64_t sealed() const noexcept { return residency_.loads() - unsealed_.size(); }
  /// What was listed since the last call.
  std::vector<Coming> take_coming();

  /// Takes steps that are done, to be used again.
  void reuse(std::vector<std::unique_ptr<Step>>& steps);
  /// Shards whose rows were planned as damaged since the last call.
  std::vector<std::uint32_t> take_lost_shards();
  std::uint64_t evictions() const noexcept { return residency_.evictions(); }
  /// Rows of a batch that come from one lane; consecutive.
  std::uint32_t rows_per_lane() const noexcept { return rows_per_lane_; }

 private:
  struct LaidOutRow {
    std::uint32_t end = 0;  ///< In the values.
    RowStatus status = RowStatus::empty;
  };
  /// The lanes of the rank in one epoch.
  struct Epoch {
    EpochPlan plan;
    std::vector<LaneFeed> lanes;
    std::shared_ptr<const State> origin;
    std::uint64_t next_step = 0;
    std::uint64_t fetched_steps = 0;  ///< Whose picks are there, from `next_step` on.
  };

  Outcome plan_step(std::vector<std::unique_ptr<Step>>& out);
  /// Makes `step_`, or an end of the epoch in its place. False where nothing comes any more.
  bool begin_step();
  Result<void> begin_epoch();
  void end_epoch();
  /// Whether the step should end where its next batch would begin: for shards that have to open or to close first, which
  /// the batches before it need not wait for.
  bool ends_step() const;
  /// Remembers what the open unit has at the beginning of a batch.
  void mark_batch();
  /// Ends the open unit before the present batch, so that what this one has to wait for holds back none of the step's
  /// batches before it.
  void begin_unit_with_batch();
  /// Makes room for the rows of `step_`, in a slot where it is laid out.
  void begin_rows();
  /// The same for the batch that is laid out next.
  void begin_batch();
  /// Plans the rows of `step_` that have none; false where a shard has to open first.
  bool plan_rows();
  /// The same for the rows before `end`, all of one lane.
  bool plan_lane(LaneFeed& lane, std::uint32_t end);
  /// The same where the step is laid out.
  bool lay_out_lane(LaneFeed& lane, std::uint32_t end);
  /// Finds the block of a record; false where a shard has to open first, or planning ends here.
  bool move_to(RunWindow& window, RunEntry& entry, std::uint64_t record);
  /// Writes offsets, ids and status of the batch that is laid out into the slot.
  void end_batch();
  /// Seals loads in order, up to the first that further rows may be planned from, or `all`.
  void seal_loads(bool all);
  /// All of the lane's picks before a row have theirs.
  void planned_to(std::uint64_t row, LaneFeed& lane);
  /// The row of a pick that is read straight from its file, or lost with its shard.
  PlannedRow plan_blockless(RunEntry& entry, const Pick& pick);
  /// The last use of the entry's extent is in the open unit.
  void end_of(RunEntry& entry, std::uint64_t run);
  /// Turns to the block of a record, in memory by plan. False where planning ends here.
  bool turn_to(RunEntry& entry, std::uint64_t record);
  /// Begins a load, within the budget. False where it is too small.
  bool bring_in(Extent& extent);
  /// Notes a shard that could not be opened. False where that ends planning.
  bool lose(std::uint32_t shard);
  /// Nothing is planned behind the present batch, which fails.
  void stop_at(Error error);
  /// Leaves the step with its first batches only, which are planned, and closes its unit.
  void cut_step(std::uint32_t batches);
  std::unique_ptr<Step> new_step();
  void open_unit();
  void close_unit();

  const Dataset dataset_;
  const Plan plan_;
  const ReaderOptions options_;
  const ExtentRules rules_;
  const std::uint32_t rows_per_lane_;
  const std::uint32_t max_open_shards_;
  const std::uint64_t rows_at_once_;
  const std::uint32_t batches_per_step_;
  const std::size_t slab_bytes_;
  SlotRing* const scatter_into_;
  ShardTable& shards_;
  Residency residency_;
  std::unique_ptr<Epoch> epoch_;
  std::uint32_t next_epoch_ = 0;
  std::uint64_t first_step_ = 0;
  bool last_epoch_ = false;  // no epoch has a higher number
  bool all_ = false;
  std::vector<std::unique_ptr<Step>> spare_;
  std::unique_ptr<Step> step_;        // being planned
  std::unique_ptr<Step> failed_;      // comes behind it
  std::uint32_t planned_ = 0;         // rows of `step_`
  std::vector<LaidOutRow> laid_out_;  // of the batch
  std::vector<std::uint64_t> ids_;    // of them
  std::uint32_t values_at_ = 0;       // the values of the batch, from the first slot
  std::uint32_t value_bytes_ = 0;     // of the rows that are planned
  std::deque<Load*> unsealed_;        // in order
  std::uint64_t rows_ = 0;            // planned so far
  std::uint64_t unit_row_ = 0;        // the first of the open unit, counted like `rows_`
  std::uint64_t ended_cost_ = 0;      // of the loads that end with the open unit
  struct {
    std::size_t ended = 0;
    std::size_t runs = 0;
    std::uint64_t ended_cost = 0;
  } at_batch_;                               // of the open unit, when the present batch began
  std::vector<std::uint64_t> planned_runs_;  // of the lane that is being planned, to their ends
  std::set<std::uint32_t> lost_shards_;
  std::vector<std::uint32_t> newly_lost_;
  bool cold_ = false;
  std::vector<Coming> coming_;
};

}  // namespace dovetail::detail
