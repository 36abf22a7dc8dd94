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

PlannedRecord LaneOrder::at(std::uint64_t output) const {
  const std::optional<detail::LaneLayout::Segment> segment = layout_->segment(output);
  if (!segment) return {};
  const detail::EpochLayout& epoch = *layout_->epoch;
  const std::uint32_t lane = segment->range.lane;
  std::uint64_t place = segment->range.output;
  const std::uint32_t source = epoch.mixed ? epoch.mixed->source_at(place) : 0;
  place = epoch.outputs_of(source, place);
  const std::uint64_t length = epoch.source_records(source, lane);
  detail::PassOrders orders(epoch);
  const detail::PassOrder order = layout_->order(orders, lane, source, place / length);
  const Pick pick = order.at(place % length);
  return {order.run(pick.run).first_id + pick.record, segment->status};
}

}  // namespace dovetail
