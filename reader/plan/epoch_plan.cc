// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>

#include "reader/plan/digest.h"
#include "reader/plan/epoch_layout.h"
#include "reader/plan/lane_layout.h"
#include "reader/plan/wide_math.h"

namespace dovetail {
namespace {

/// The digests of the records that have not left the lane at the cursor's place. Whole runs are summed at once.
Hash128 digest_left(const LaneOrder& lane, const LaneCursor& cursor, const detail::DigestSums& sums) {
  Hash128 digest;
  for (const Pick& pick : cursor.pooled()) digest += record_digest(lane.id(pick));
  for (const LaneCursor::OpenRun& open : cursor.open_runs()) {
    const Run run = lane.run(open.run);
    digest += sums.over(run.first_id + open.next_record, run.count - open.next_record);
  }
  for (std::uint64_t position = cursor.next_run(); position < lane.runs(); ++position) {
    const Run run = lane.run(position);
    digest += sums.over(run.first_id, run.count);
  }
  return digest;
}

}  // namespace

EpochPlan::Layout::Layout(std::shared_ptr<const detail::PlanFacts> plan_facts, std::uint32_t epoch_number,
                          std::uint64_t epoch_steps, detail::ShardLine shard_line)
    : facts(std::move(plan_facts)), epoch(epoch_number), steps(epoch_steps), line(std::move(shard_line)) {}

std::uint64_t EpochPlan::Layout::delivered(std::uint32_t lane) const noexcept {
  return std::min(outputs(), line.lane_records(*facts, lane));
}

EpochPlan::EpochPlan(std::shared_ptr<const Layout> layout) : layout_(std::move(layout)) {}

std::uint32_t EpochPlan::epoch() const noexcept {
  return layout_->epoch;
}
std::uint64_t EpochPlan::steps() const noexcept {
  return layout_->steps;
}
std::uint64_t EpochPlan::rows() const noexcept {
  return layout_->steps * layout_->facts->rows_per_step;
}

// Dropping ends every lane before its last record, and the other tails deliver all records.
std::uint64_t EpochPlan::delivered() const noexcept {
  return layout_->facts->options.tail == Tail::drop ? rows() : layout_->facts->records;
}

std::uint64_t EpochPlan::dropped() const noexcept {
  return layout_->facts->records - delivered();
}
std::uint64_t EpochPlan::padded() const noexcept {
  return rows() - delivered();
}

std::uint32_t EpochPlan::lanes() const noexcept {
  return layout_->facts->lanes;
}
std::uint32_t EpochPlan::lanes_per_rank() const noexcept {
  return layout_->facts->lanes / layout_->facts->readers;
}
std::uint64_t EpochPlan::rows_per_lane() const noexcept {
  return layout_->facts->rows_per_lane;
}

std::uint32_t EpochPlan::first_lane(std::uint32_t rank) const noexcept {
  return rank / layout_->facts->options.replicate * lanes_per_rank();
}

LaneOrder EpochPlan::lane(std::uint32_t lane) const {
  const detail::PlanFacts& facts = *layout_->facts;
  const detail::LaneKey key{.seed = facts.options.seed,
                            .epoch = layout_->epoch,
                            .lane = lane,
                            .shuffled = facts.options.order != OrderKind::sequential,
                            .wraps = facts.options.tail == Tail::wrap,
                            .open_runs = facts.options.open_runs,
                            .pool = facts.options.pool};
  return LaneOrder(std::make_shared<const LaneOrder::Layout>(layout_->line.pieces(facts, lane), key));
}

RankShare EpochPlan::share(std::uint32_t rank) const {
  const detail::PlanFacts& facts = *layout_->facts;
  RankShare share;
  std::uint64_t last_shard = std::numeric_limits<std::uint64_t>::max();
  const std::uint32_t first = first_lane(rank);
  for (std::uint32_t lane = first; lane < first + lanes_per_rank(); ++lane) {
    std::uint64_t lane_bytes = 0;
    for (const detail::Piece& piece : layout_->line.pieces(facts, lane)) {
      const ShardShape& shape = facts.dataset->shards[piece.shard];
      lane_bytes = detail::saturating_add(
          lane_bytes, detail::multiply_divide(piece.end - piece.begin, shape.raw_bytes, shape.records));
      // Only neighbouring lanes share a shard, and only at their common end.
      if (piece.shard != last_shard) ++share.shards;
      last_shard = piece.shard;
    }
    const std::uint64_t records = layout_->line.lane_records(facts, lane);
    const std::uint64_t delivered = layout_->delivered(lane);
    share.records += delivered;
    if (records != 0) {
      share.bytes_estimate =
          detail::saturating_add(share.bytes_estimate, detail::multiply_divide(lane_bytes, delivered, records));
    }
  }
  return share;
}

Hash128 EpochPlan::digest() const {
  const detail::PlanFacts& facts = *layout_->facts;
  const detail::DigestSums sums(facts.records);
  Hash128 digest = sums.over(0, facts.records);
  for (std::uint32_t number = 0; number < facts.lanes; ++number) {
    if (layout_->delivered(number) == layout_->line.lane_records(facts, number)) continue;
    const LaneOrder order = lane(number);
    digest = digest - digest_left(order, order.cursor(layout_->outputs()), sums);
  }
  return digest;
}

}  // namespace dovetail
