// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <dovetail/plan.h>

#include "reader/plan/lane_phases.h"
#include "reader/plan/mix_schedule.h"
#include "reader/plan/pass_order.h"
#include "reader/plan/plan_facts.h"
#include "reader/plan/run_line.h"
#include "reader/plan/shard_line.h"

namespace dovetail::detail {

/// Consecutive outputs of one pass over one source in a base lane.
struct PassRange {
  std::uint32_t source = 0;
  std::uint64_t pass = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Everything that the lanes of an epoch have in common.
///
/// Threads: const calls may run concurrently.
struct EpochLayout {
  EpochLayout(std::shared_ptr<const PlanFacts> plan_facts, std::uint32_t epoch_number, const LaneGrid& base_grid,
              LaneLengths base_lengths);

  std::shared_ptr<const PlanFacts> facts;
  std::uint32_t epoch;
  LaneGrid base;                     ///< That the epoch began with.
  LanePhases lanes;                  ///< Down to the present phase.
  std::optional<MixSchedule> mixed;  ///< Of the base lanes.
  std::uint64_t past_steps = 0;      ///< Of the phases that are over,
  std::uint64_t past_rows = 0;       ///< and their rows.
  std::uint64_t steps = 0;           ///< Of the whole epoch.
  std::uint64_t lane_outputs = 0;    ///< That each lane of `lanes` gives in all its steps.
  /// The epoch had ended before the world changed: the present phase is empty, and `lanes` are those of the last one
  /// that was not.
  bool over = false;

  std::uint64_t source_records(std::uint32_t source, std::uint32_t lane) const noexcept;

  /// Calls `visit(PassRange)` for the passes that outputs of a base lane come from, source by source.
  template <class Visit>
  void for_each_pass(const BaseRange& range, const Visit& visit) const {
    for (std::uint32_t source = 0; source < facts->sources.size(); ++source) {
      const std::uint64_t end = outputs_of(source, range.output + range.count);
      const std::uint64_t length = source_records(source, range.lane);
      for (std::uint64_t at = outputs_of(source, range.output); at < end;) {
        const std::uint64_t pass = at / length;
        const std::uint64_t next = std::min(end, (pass + 1) * length);
        visit(PassRange{source, pass, at - pass * length, next - pass * length});
        at = next;
      }
    }
  }
  /// How many of the first `outputs` outputs of a base lane are the source's.
  std::uint64_t outputs_of(std::uint32_t source, std::uint64_t outputs) const noexcept {
    return mixed ? mixed->count(source, outputs) : outputs;
  }

  /// The line of pass 0 over each source, which every lane needs; of shards, or with `Assign::runs` of runs.
  std::vector<ShardLine> first_lines;
  std::vector<std::shared_ptr<const RunLine>> first_run_lines;
};

/// Makes the orders of passes. The lines of further passes over a source are made when they are asked for, and the last
/// one is kept: whoever looks at many lanes does it pass by pass.
///
/// Ownership: borrows the layout.
/// Threads:   none.
class PassOrders {
 public:
  explicit PassOrders(const EpochLayout& epoch) : epoch_(epoch), later_lines_(epoch.facts->sources.size()) {}

  /// One pass over a base lane.
  PassOrder order(std::uint32_t lane, std::uint32_t source, std::uint64_t pass);
  /// The runs that it holds, in line order. Not for `OrderKind::global`.
  LaneRuns runs(std::uint32_t lane, std::uint32_t source, std::uint64_t pass);

 private:
  struct LaterLine {
    std::uint64_t pass = 0;
    std::optional<ShardLine> shards;
    std::shared_ptr<const RunLine> runs;
  };
  /// The line of a pass that is not the first.
  const LaterLine& later_line(std::uint32_t source, std::uint64_t pass);

  const EpochLayout& epoch_;
  std::vector<LaterLine> later_lines_;  // by source
};

}  // namespace dovetail::detail
