// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/lane_order.h"

#include <algorithm>
#include <utility>

namespace dovetail {

std::optional<detail::LaneLayout::Segment> detail::LaneLayout::segment(std::uint64_t output) const noexcept {
  const bool wraps = epoch->facts->options.tail == Tail::wrap && !epoch->over && epoch->lanes.lengths().total() != 0;
  if (output >= records && !wraps) return std::nullopt;
  Segment found;
  std::uint64_t limit = output < outputs ? outputs - output : ~std::uint64_t{0};
  if (records == 0) {
    // After a change of world there may be fewer records than lanes. Such a lane repeats the record
    // at its place of the line.
    found = {epoch->lanes.locate(begin), RowStatus::repeated};
    limit = 1;
  } else {
    const std::uint64_t offset = output % records;
    found = {epoch->lanes.locate(begin + offset), output < records ? RowStatus::first : RowStatus::repeated};
    limit = std::min(limit, records - offset);
  }
  found.range.count = std::min(found.range.count, limit);
  return found;
}

detail::PassOrder detail::LaneLayout::order(detail::PassOrders& orders, std::uint32_t base_lane, std::uint32_t source,
                                            std::uint64_t pass) const {
  return pass == 0 && !first_passes.empty() ? first_passes[source] : orders.order(base_lane, source, pass);
}

LaneOrder::LaneOrder(std::shared_ptr<const detail::LaneLayout> layout) : layout_(std::move(layout)) {}

std::uint64_t LaneOrder::records() const noexcept {
  return layout_->records;
}

}  // namespace dovetail
