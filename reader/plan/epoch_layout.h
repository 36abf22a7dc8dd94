// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <dovetail/identity.h>
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

/// The facts that all lanes of an epoch share.
///
/// Threads: const calls may run concurrently.
struct EpochLayout {
  EpochLayout(std::shared_ptr<const PlanFacts> plan_facts, std::uint32_t epoch_number, const LaneGrid& base_grid,
              LaneLengths base_lengths);

  std::shared_ptr<const PlanFacts> facts;
  std::uint32_t epoch;
  LaneGrid base;                     ///< The grid that the epoch began with.
  LanePhases lanes;                  ///< From the base lanes to the present phase.
  std::optional<MixSchedule> mixed;  ///< Sources of the rows of base lanes; only in a mix.
  std::uint64_t past_steps = 0;      ///< Steps of all phases before the present one.
  std::uint64_t past_rows = 0;       ///< Rows of these steps.
  std::uint64_t steps = 0;           ///< Steps of the whole epoch.
  std::uint64_t lane_outputs = 0;    ///< Outputs of each lane of `lanes` in its whole phase.
  /// The epoch had ended before the world changed. The present phase is empty, and `lanes` are
  /// those of the last phase with steps.
  bool over = false;

  std::uint64_t source_records(std::uint32_t source, std::uint32_t lane) const noexcept;

  /// Calls `visit(PassRange)` for each pass that outputs of `range` come from, source by source.
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
  /// How many of the first `outputs` outputs of a base lane come from the source.
  std::uint64_t outputs_of(std::uint32_t source, std::uint64_t outputs) const noexcept {
    return mixed ? mixed->count(source, outputs) : outputs;
  }

  /// The line of pass 0 of each source, which every lane needs: a line of shards, or of runs with
  /// `Assign::runs`.
  std::vector<ShardLine> first_lines;
  std::vector<std::shared_ptr<const RunLine>> first_run_lines;
};

/// Makes the orders of passes. The line of a later pass is made on demand, and only the last one
/// made is kept. So a caller that visits many lanes goes pass by pass.
///
/// Ownership: borrows the layout.
/// Threads:   none.
class PassOrders {
 public:
  explicit PassOrders(const EpochLayout& epoch) : epoch_(epoch), later_lines_(epoch.facts->sources.size()) {}

  /// One pass over a base lane.
  PassOrder order(std::uint32_t lane, std::uint32_t source, std::uint64_t pass);
  /// The runs of that pass and lane, in line order. Not for `OrderKind::global`.
  LaneRuns runs(std::uint32_t lane, std::uint32_t source, std::uint64_t pass);

 private:
  struct LaterLine {
    std::uint64_t pass = 0;
    std::optional<ShardLine> shards;
    std::shared_ptr<const RunLine> runs;
  };
  /// Needs: `pass` is above 0.
  const LaterLine& later_line(std::uint32_t source, std::uint64_t pass);

  const EpochLayout& epoch_;
  std::vector<LaterLine> later_lines_;  // by source
};

/// The sum of the digests of all first deliveries of an epoch.
/// Cost: proportional to the number of shards. A mix adds at most half the records of the runs that
///       are open where it ends. `drop` adds the records that it leaves out.
Hash128 epoch_digest(const EpochLayout& epoch);

}  // namespace dovetail::detail
