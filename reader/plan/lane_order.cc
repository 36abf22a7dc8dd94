// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <dovetail/order.h>

#include "reader/plan/input_cursor.h"
#include "reader/plan/lane_layout.h"
#include "reader/plan/pool.h"

namespace dovetail {

LaneOrder::LaneOrder(std::shared_ptr<const Layout> layout) : layout_(std::move(layout)) {}

std::uint64_t LaneOrder::records() const noexcept {
  return layout_->records();
}

std::uint64_t LaneOrder::runs() const noexcept {
  return layout_->runs();
}

Run LaneOrder::run(std::uint64_t position) const {
  return layout_->run(position % layout_->runs());
}

Pick LaneOrder::at(std::uint64_t output) const {
  const std::uint64_t records = layout_->records();
  if (records == 0 || (output >= records && !layout_->wraps())) return {};
  detail::InputCursor inputs(*layout_);
  inputs.restart(output / records * layout_->runs());
  inputs.seek(detail::input_of_output(*layout_, output % records));
  Pick pick;
  inputs.take({&pick, 1});
  return pick;
}

std::uint64_t LaneOrder::id(const Pick& pick) const {
  return pick.planned() ? run(pick.run).first_id + pick.record : kNoId;
}

RowStatus LaneOrder::status(const Pick& pick) const noexcept {
  if (!pick.planned()) return RowStatus::empty;
  return pick.run < layout_->runs() ? RowStatus::first : RowStatus::repeated;
}

}  // namespace dovetail
