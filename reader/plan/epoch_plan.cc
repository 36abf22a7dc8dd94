// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "reader/plan/epoch_layout.h"
#include "reader/plan/lane_order.h"
#include "reader/plan/wide_math.h"

namespace dovetail {
namespace {

/// The shards and bytes that some outputs of base lanes need, estimated from the mean record size
/// of their shards.
struct Touched {
  const detail::EpochLayout& epoch;
  RankShare& share;
  detail::PassOrders orders{epoch};
  std::unordered_set<std::uint32_t> shards = {};

  void add(const detail::BaseRange& range) {
    for (std::uint32_t source = 0; source < epoch.facts->sources.size(); ++source) {
      const std::uint64_t begin = epoch.outputs_of(source, range.output);
      const std::uint64_t end = epoch.outputs_of(source, range.output + range.count);
      const std::uint64_t length = epoch.source_records(source, range.lane);
      const bool scattered = epoch.facts->options.order == OrderKind::global;
      if (begin == end) continue;
      if (scattered || end - begin > 2 * length) {
        add_source(source, end - begin);  // each pass of a lane touches other shards
        continue;
      }
      for (std::uint64_t at = begin; at < end;) {
        const std::uint64_t next = std::min(end, (at / length + 1) * length);
        add_pass(range.lane, source, at / length, next - at);
        at = next;
      }
    }
  }

 private:
  void add_source(std::uint32_t source, std::uint64_t outputs) {
    std::uint64_t bytes = 0;
    std::uint64_t records = 0;
    const detail::Source& all = epoch.facts->sources[source];
    for (std::uint32_t shard = all.first_shard; shard < all.first_shard + all.shards; ++shard) {
      add_part(shard, epoch.facts->dataset->shards[shard].records, bytes, records);
    }
    add_bytes(bytes, outputs, records);
  }

  void add_pass(std::uint32_t lane, std::uint32_t source, std::uint64_t pass, std::uint64_t outputs) {
    std::uint64_t bytes = 0;
    std::uint64_t records = 0;
    orders.runs(lane, source, pass).for_each_part([&](const detail::ShardPart& part) {
      add_part(part.shard, part.count, bytes, records);
    });
    add_bytes(bytes, outputs, records);
  }

  void add_bytes(std::uint64_t bytes, std::uint64_t outputs, std::uint64_t records) {
    const std::uint64_t whole = outputs / records;
    const std::uint64_t rest = detail::multiply_divide(bytes, outputs % records, records);
    const bool too_many = detail::product_overflows(bytes, whole);
    const std::uint64_t added = too_many ? ~std::uint64_t{0} : detail::saturating_add(bytes * whole, rest);
    share.bytes_estimate = detail::saturating_add(share.bytes_estimate, added);
  }

  void add_part(std::uint32_t shard, std::uint64_t part, std::uint64_t& bytes, std::uint64_t& records) {
    if (part == 0) return;
    const ShardShape& shape = epoch.facts->dataset->shards[shard];
    bytes = detail::saturating_add(bytes, detail::multiply_divide(part, shape.raw_bytes, shape.records));
    records += part;
    shards.insert(shard);
  }
};

}  // namespace

EpochPlan::EpochPlan(std::shared_ptr<const detail::EpochLayout> layout) : layout_(std::move(layout)) {}

std::uint32_t EpochPlan::epoch() const noexcept {
  return layout_->epoch;
}
std::uint64_t EpochPlan::steps() const noexcept {
  return layout_->steps;
}
std::uint64_t EpochPlan::first_step() const noexcept {
  return layout_->past_steps;
}
std::uint64_t EpochPlan::records() const noexcept {
  return layout_->lanes.base().total();
}
std::uint64_t EpochPlan::rows() const noexcept {
  return layout_->past_rows + (steps() - first_step()) * layout_->facts->rows_per_step;
}

// True for any phases: `drop` ends every lane within its records, the other tails deliver all
// records.
std::uint64_t EpochPlan::delivered() const noexcept {
  return layout_->facts->options.tail == Tail::drop ? rows() : records();
}
std::uint64_t EpochPlan::dropped() const noexcept {
  return records() - delivered();
}
std::uint64_t EpochPlan::padded() const noexcept {
  return rows() - delivered();
}

std::uint32_t EpochPlan::lanes() const noexcept {
  return layout_->facts->grid.lanes;
}
std::uint32_t EpochPlan::lanes_per_rank() const noexcept {
  return layout_->facts->grid.lanes / layout_->facts->readers;
}
std::uint64_t EpochPlan::rows_per_lane() const noexcept {
  return layout_->facts->grid.rows_per_lane;
}
std::uint32_t EpochPlan::first_lane(std::uint32_t rank) const noexcept {
  return rank / layout_->facts->options.replicate * lanes_per_rank();
}
std::uint64_t EpochPlan::first_output(std::uint64_t step) const noexcept {
  return (step - first_step()) * rows_per_lane();
}

LaneOrder EpochPlan::lane(std::uint32_t lane) const {
  auto made = std::make_shared<detail::LaneLayout>();
  made->epoch = layout_;
  if (layout_->over) return LaneOrder(std::move(made));
  made->begin = layout_->lanes.lengths().begin(lane);
  made->records = layout_->lanes.lengths().length(lane);
  made->outputs = layout_->lane_outputs;
  if (!layout_->lanes.changed()) {
    detail::PassOrders orders(*layout_);
    for (std::uint32_t source = 0; source < layout_->facts->sources.size(); ++source) {
      made->first_passes.push_back(orders.order(lane, source, 0));
    }
  }
  return LaneOrder(std::move(made));
}

RankShare EpochPlan::share(std::uint32_t rank) const {
  RankShare share;
  if (layout_->facts->options.order != OrderKind::global) share.shards = 0;
  if (layout_->over) return share;
  Touched touched{*layout_, share};
  const detail::LaneLengths& lengths = layout_->lanes.lengths();
  const std::uint32_t first = first_lane(rank);
  for (std::uint32_t lane = first; lane < first + lanes_per_rank(); ++lane) {
    const std::uint64_t delivered = std::min(layout_->lane_outputs, lengths.length(lane));
    share.records += delivered;
    // With `wrap`, a lane without records repeats a record of another lane.
    const bool repeats = layout_->facts->options.tail == Tail::wrap && delivered == 0 && layout_->lane_outputs != 0;
    const std::uint64_t end = lengths.begin(lane) + (repeats ? 1 : delivered);
    for (std::uint64_t at = lengths.begin(lane); at < end;) {
      detail::BaseRange range = layout_->lanes.locate(at);
      range.count = std::min(range.count, end - at);
      touched.add(range);
      at += range.count;
    }
  }
  if (share.shards) share.shards = static_cast<std::uint32_t>(touched.shards.size());
  return share;
}

Hash128 EpochPlan::digest() const {
  return detail::epoch_digest(*layout_);
}

}  // namespace dovetail
