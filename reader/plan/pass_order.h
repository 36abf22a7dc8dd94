// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include <dovetail/order.h>

#include "reader/plan/pass_layout.h"
#include "reader/plan/permutation.h"
#include "reader/plan/plan_facts.h"

namespace dovetail::detail {

/// A lane of `OrderKind::global`: a range of positions in one permutation of all records of a
/// source. Each record is a run of its own.
struct ScatteredLane {
  std::shared_ptr<const PlanFacts> facts;
  Source source;
  Permutation records;      ///< The permutation of all records of the source.
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
  /// Whether each record is a run of its own: `OrderKind::global`.
  bool is_scattered() const noexcept { return layout_ == nullptr; }
  /// Sets how many consecutive records are a group with `OrderKind::global`. This does not change
  /// the order.
  void group_scattered(std::uint64_t records) noexcept { scattered_group_ = records; }
  /// The position of the first run of `group`; `runs()` for the number of groups.
  std::uint64_t group_begin(std::uint64_t group) const noexcept {
    return layout_ != nullptr ? layout_->group_begin(group) : std::min(group * scattered_group_, records());
  }
  /// The number of groups that the outputs before `end` need. Later groups are needed only by
  /// outputs from `end` on.
  std::uint64_t groups_before(std::uint64_t end) const noexcept;
  /// The number of runs of the largest group.
  std::uint64_t largest_group() const noexcept {
    return layout_ != nullptr ? layout_->largest_group() : scattered_group_;
  }
  std::uint64_t runs() const noexcept { return layout_ != nullptr ? layout_->runs() : records(); }
  /// The run opened as number `position`, below `runs()`.
  Run run(std::uint64_t position) const noexcept {
    return layout_ != nullptr ? layout_->run(position) : scattered_->run(position);
  }
  /// The order in which the run opened as number `position`, of `length` records, gives them.
  Stride deal(std::uint64_t position, std::uint64_t length) const noexcept {
    return layout_ != nullptr ? layout_->deal(position, length) : Stride{};
  }

 private:
  template <class Runs>
  friend class PassWalk;
  std::shared_ptr<const PassLayout> layout_;  // exactly one of the two is set
  std::shared_ptr<const ScatteredLane> scattered_;
  std::uint64_t scattered_group_ = 1;
};

}  // namespace dovetail::detail
