// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <dovetail/order.h>

#include "reader/plan/input_cursor.h"
#include "reader/plan/pass_layout.h"
#include "reader/plan/permutation.h"
#include "reader/plan/plan_facts.h"
#include "reader/plan/pool.h"

namespace dovetail::detail {

/// A lane of `OrderKind::global`: a range of positions of one permutation of all records of a source. Each record is a
/// run of its own.
struct ScatteredLane {
  std::shared_ptr<const PlanFacts> facts;
  Source source;
  Permutation records;      ///< Of the source.
  std::uint64_t begin = 0;  ///< Positions of the lane: [begin, end).
  std::uint64_t end = 0;

  Run run(std::uint64_t position) const noexcept;
};

/// The order of one lane in one pass over one source: a pure function from output number to record.
///
/// Ownership: a value; copies share the layout.
/// Threads:   const calls may run concurrently.
class PassOrder {
 public:
  PassOrder(LaneRuns runs, const PassKey& key) : layout_(std::make_shared<const PassLayout>(std::move(runs), key)) {}
  explicit PassOrder(ScatteredLane lane) : scattered_(std::make_shared<const ScatteredLane>(std::move(lane))) {}

  std::uint64_t records() const noexcept {
    return layout_ != nullptr ? layout_->records() : scattered_->end - scattered_->begin;
  }
  std::uint64_t runs() const noexcept { return layout_ != nullptr ? layout_->runs() : records(); }
  /// The run opened as number `position`, below `runs()`.
  Run run(std::uint64_t position) const noexcept {
    return layout_ != nullptr ? layout_->run(position) : scattered_->run(position);
  }
  /// The order in which the run opened as number `position`, of so many records, gives them.
  Stride deal(std::uint64_t position, std::uint64_t length) const noexcept {
    return layout_ != nullptr ? layout_->deal(position, length) : Stride{};
  }
  /// One output, below `records()`, without the ones before it.
  Pick at(std::uint64_t output) const;

 private:
  friend class PassCursor;
  std::shared_ptr<const PassLayout> layout_;  // one of the two is there
  std::shared_ptr<const ScatteredLane> scattered_;
};

/// Walks a pass output by output.
///
/// Threads: none.
/// Cost:    memory for the pool and the open runs: O(K + C), never for records.
class PassCursor {
 public:
  /// Before output `output`, at most the pass's records. Picks number runs from `first_run`.
  /// Cost: about K ln K draws for a pool of K, whatever the output.
  PassCursor(PassOrder order, std::uint64_t output, std::uint64_t first_run);

  const PassOrder& order() const noexcept { return order_; }
  std::uint64_t position() const noexcept { return position_; }
  /// Fills `out` with the next picks. Needs as many left in the pass. Cost: no allocation.
  void next(std::span<Pick> out);

  /// What is in flight at this position: exactly the picks of `pooled()`, the rest of `open_runs()`, and the runs from
  /// `next_run()` on are still to come.
  std::vector<Pick> pooled() const;
  std::vector<OpenRun> open_runs() const;
  std::uint64_t next_run() const noexcept;

 private:
  struct Walk {
    Walk(const PassLayout& layout, std::uint64_t first_run)
        : lane(layout), inputs(layout, first_run), slots(layout), pool(layout.pool()) {}

    /// Outputs whose slot is refilled; the others empty the pool.
    std::uint64_t refilled() const noexcept { return lane.records() - lane.pool(); }
    /// Puts the inputs in `picks` into the slots that the outputs from `output` on leave, and these outputs in their
    /// place.
    void pass_through_pool(std::uint64_t output, std::span<Pick> picks) noexcept;

    const PassLayout& lane;
    InputCursor inputs;
    SlotDraws slots;
    std::vector<Pick> pool;  // filled when output 0 is asked for, and meaningless before
  };
  void restore();

  PassOrder order_;
  std::uint64_t position_;
  std::uint64_t first_run_;
  std::unique_ptr<Walk> walk_;  // null for scattered records
};

}  // namespace dovetail::detail
