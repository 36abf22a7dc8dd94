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
  std::uint64_t begin = 0;    ///< Where the lane begins in the line of all lanes.
  std::uint64_t records = 0;  ///< The lane's length in that line.
  std::uint64_t outputs = 0;  ///< Outputs that the plan takes from the lane.
  /// The order of pass 0 of each source, shared by all cursors. Empty after a change of world,
  /// because a lane may then consist of parts of many base lanes.
  std::vector<PassOrder> first_passes;

  /// Consecutive outputs of one base lane, starting at the requested output.
  struct Segment {
    BaseRange range;
    RowStatus status = RowStatus::first;
  };
  /// The segment at `output`. Empty if all rows from `output` on are empty. The segment ends at the
  /// plan's last output at the latest, unless it begins behind it.
  std::optional<Segment> segment(std::uint64_t output) const noexcept;
  /// The order of a pass over a base lane. `orders` makes it unless it is one of `first_passes`.
  PassOrder order(PassOrders& orders, std::uint32_t base_lane, std::uint32_t source, std::uint64_t pass) const;

  static const std::shared_ptr<const LaneLayout>& of(const LaneOrder& order) noexcept { return order.layout_; }
};

}  // namespace dovetail::detail
