// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <dovetail/batch_reader.h>

#include "reader/delivery/lane_feed.h"
#include "reader/delivery/residency.h"
#include "reader/delivery/shard_table.h"
#include "reader/delivery/step.h"

namespace dovetail::detail {

/// A range of a file that will be read.
struct Coming {
  std::shared_ptr<const ShardFile> file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Turns the plan into steps whose rows know where their bytes come from, in chunks, ahead of reading: the one place
/// where the order meets files, extents and the budget.
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
  };
  Planner(const Settings& settings, ShardTable& shards);
  ~Planner();

  /// Rows that are worth a call.
  static constexpr std::uint64_t kRowsAtOnce = 1024;

  /// How planning ended for now.
  enum class Outcome : std::uint8_t {
    more,     ///< There is more to plan.
    blocked,  ///< A shard has to open first.
    all,      ///< Nothing comes any more.
  };
  /// Appends the next steps to `out`: about `kRowsAtOnce` rows, at least one step unless it is blocked or all is planned. With
  /// `cold`, lists the runs that they begin with as coming.
  Outcome plan(bool cold, std::vector<std::unique_ptr<Step>>& out);
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
  /// The lanes of the rank in one epoch.
  struct Epoch {
    EpochPlan plan;
    std::vector<LaneFeed> lanes;
    std::shared_ptr<const State> origin;
    std::uint64_t next_step = 0;
    std::uint64_t fetched_steps = 0;  ///< Whose picks are there, from `next_step` on.
  };

  Outcome plan_step(std::vector<std::unique_ptr<Step>>& out);
  std::unique_ptr<Step> begin_step();
  Result<void> begin_epoch();
  void end_epoch(Step& step);
  /// Plans the rows of `step_` that have none; false where a shard has to open first.
  bool plan_rows();
  /// The same for the rows before `end`, all of one lane.
  bool plan_lane(LaneFeed& lane, std::uint32_t end);
  void plan_row(RunEntry& entry, std::uint64_t record, PlannedRow& row);
  /// The extent's last use is in the open unit.
  void end_of(Extent& extent);
  /// Turns to the block of a record, in memory by plan. False where planning ends here.
  bool turn_to(RunEntry& entry, std::uint64_t record);
  /// Begins a load, within the budget. False where it is too small.
  bool bring_in(Extent& extent);
  /// Notes a shard that could not be opened. False where that ends planning.
  bool lose(std::uint32_t shard);
  /// Nothing is planned behind the present step, which fails.
  void stop_at(Error error);
  void list_coming(RunEntry& entry);
  std::unique_ptr<Step> new_step();
  void open_unit();
  void close_unit();

  const Dataset dataset_;
  const Plan plan_;
  const ReaderOptions options_;
  const ExtentRules rules_;
  const std::uint32_t rows_per_lane_;
  const std::uint32_t max_open_shards_;
  ShardTable& shards_;
  Residency residency_;
  std::unique_ptr<Epoch> epoch_;
  std::uint32_t next_epoch_ = 0;
  std::uint64_t first_step_ = 0;
  bool last_epoch_ = false;  // no epoch has a higher number
  bool all_ = false;
  std::vector<std::unique_ptr<Step>> spare_;
  std::unique_ptr<Step> step_;               // being planned
  std::uint32_t planned_ = 0;                // rows of `step_`
  std::uint64_t rows_ = 0;                   // planned so far
  std::uint64_t unit_row_ = 0;               // the first of the open unit, counted like `rows_`
  std::uint64_t ended_cost_ = 0;             // of the loads that end with the open unit
  std::vector<std::uint64_t> planned_runs_;  // of the lane that is being planned, to their ends
  std::set<std::uint32_t> lost_shards_;
  std::vector<std::uint32_t> newly_lost_;
  bool cold_ = false;
  std::vector<Coming> coming_;
};

}  // namespace dovetail::detail
