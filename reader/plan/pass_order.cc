// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/pass_order.h"

#include <algorithm>

namespace dovetail::detail {

Run ScatteredLane::run(std::uint64_t position) const noexcept {
  const std::uint64_t id = source.first_id + records(begin + position);
  const auto first = facts->first_id.begin() + source.first_shard;
  // Shards without records share their first id with the next one.
  const auto after = std::upper_bound(first, first + source.shards, id);
  const auto shard = static_cast<std::uint32_t>(after - facts->first_id.begin()) - 1;
  return {.shard = shard, .first_record = id - facts->first_id[shard], .count = 1, .first_id = id};
}

Pick PassOrder::at(std::uint64_t output) const {
  if (scattered_ != nullptr) return {output, 0};
  return InputCursor(*layout_, 0).at(input_of_output(*layout_, output));
}

PassCursor::PassCursor(PassOrder order, std::uint64_t output, std::uint64_t first_run)
    : order_(std::move(order)), position_(output), first_run_(first_run) {
  if (order_.layout_ == nullptr) return;
  walk_ = std::make_unique<Walk>(*order_.layout_, first_run);
  if (position_ != 0) restore();
}

void PassCursor::Walk::pass_through_pool(std::uint64_t output, std::span<Pick> picks) noexcept {
  if (pool.empty()) return;
  while (!picks.empty()) {
    const std::span<const std::uint32_t> left = slots.from(output);
    const std::size_t count = std::min(picks.size(), left.size());
    for (std::size_t i = 0; i < count; ++i) std::swap(picks[i], pool[left[i]]);
    output += count;
    picks = picks.subspan(count);
  }
}

void PassCursor::restore() {
  Walk& walk = *walk_;
  for (const Held& held : pool_before(walk.lane, std::min(position_, walk.refilled()))) {
    walk.pool[held.slot] = walk.inputs.at(held.input);
  }
  walk.inputs.seek(std::min(position_ + walk.lane.pool(), walk.lane.records()));
}

void PassCursor::next(std::span<Pick> out) {
  if (out.empty()) return;
  if (walk_ == nullptr) {
    for (Pick& pick : out) pick = {first_run_ + position_++, 0};
    return;
  }
  Walk& walk = *walk_;
  if (position_ == 0) walk.inputs.take(walk.pool);
  if (position_ < walk.refilled()) {
    const auto refill = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), walk.refilled() - position_));
    const std::span<Pick> part = out.first(refill);
    walk.inputs.take(part);
    walk.pass_through_pool(position_, part);
    position_ += refill;
    out = out.subspan(refill);
  }
  for (Pick& pick : out) pick = walk.pool[walk.lane.drain()(position_++ - walk.refilled())];
}

std::vector<Pick> PassCursor::pooled() const {
  std::vector<Pick> picks;
  if (walk_ == nullptr || position_ == 0) return picks;
  if (position_ <= walk_->refilled()) return walk_->pool;
  for (std::uint64_t i = position_ - walk_->refilled(); i < walk_->pool.size(); ++i) {
    picks.push_back(walk_->pool[walk_->lane.drain()(i)]);
  }
  return picks;
}

std::vector<OpenRun> PassCursor::open_runs() const {
  return walk_ == nullptr || position_ == 0 ? std::vector<OpenRun>{} : walk_->inputs.open_runs();
}

std::uint64_t PassCursor::next_run() const noexcept {
  if (walk_ == nullptr) return first_run_ + position_;
  return position_ == 0 ? first_run_ : walk_->inputs.next_run();
}

}  // namespace dovetail::detail
