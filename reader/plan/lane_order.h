// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <dovetail/order.h>

#include "reader/plan/epoch_layout.h"

namespace dovetail::detail {

/// A lane of an epoch's present phase.
struct LaneLayout {
  std::shared_ptr<const EpochLayout> epoch;
  std::uint64_t begin = 0;    ///< Its place in the line of all lanes.
  std::uint64_t records = 0;  ///< Its length there.
  std::uint64_t outputs = 0;  ///< That the plan asks for.
  /// Pass 0 over each source, which all cursors share; none after a change of world, when a lane may be made of many.
  std::vector<PassOrder> first_passes;

  /// Outputs from `output` on that follow each other in a base lane.
  struct Segment {
    BaseRange range;
    RowStatus status = RowStatus::first;
  };
  /// None where rows are empty from here on. It does not reach beyond the plan's outputs, unless it begins there.
  std::optional<Segment> segment(std::uint64_t output) const noexcept;
  /// One pass over a base lane that a segment lies in; `orders` makes those that are not shared.
  PassOrder order(PassOrders& orders, std::uint32_t base_lane, std::uint32_t source, std::uint64_t pass) const;

  static const std::shared_ptr<const LaneLayout>& of(const LaneOrder& order) noexcept { return order.layout_; }
};

}  // namespace dovetail::detail
