// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/rank_rows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "format/try.h"

namespace dovetail::detail {

RankRows::RankRows(const ReaderSetup& setup, const FillRules& rules, ShardTable& shards, RunStore& store)
    : setup_(setup),
      rules_(rules),
      shards_(shards),
      store_(store),
      next_epoch_(setup.options.start.epoch),
      first_step_(setup.options.start.step) {}

Result<bool> RankRows::begin(FlightStart& flight) {
  if (epoch_ == nullptr) {
    const ReaderOptions& options = setup_.options;
    if (last_epoch_ || (options.epochs != 0 && next_epoch_ >= options.epochs)) return false;
    DOVETAIL_TRY(begin_epoch());
  }
  flight.origin = epoch_->origin;
  flight.epoch = epoch_->plan.epoch();
  flight.first_row = first_row_;
  const std::uint64_t left = epoch_->plan.steps() - epoch_->next_step;
  if (left == 0) {
    store_.walk_to(first_row_);
    epoch_.reset();
    flight.end_of_epoch = true;
    return true;
  }
  flight.step = epoch_->next_step;
  flight.batches = static_cast<std::uint32_t>(std::min<std::uint64_t>(setup_.memory.batches_per_slot, left));
  flight.row_count = flight.batches * rules_.batch_rows;
  epoch_->next_step += flight.batches;
  first_row_ += flight.row_count;
  return true;
}

Result<void> RankRows::begin_epoch() {
  // A shard that failed to open may open now, and a block that was damaged may be good when read
  // again.
  shards_.forget_failures();
  DOVETAIL_ASSIGN(EpochPlan plan, setup_.plan.epoch(next_epoch_));
  const std::uint64_t first_step = std::max(std::exchange(first_step_, 0), plan.first_step());
  DOVETAIL_ASSIGN(State origin, setup_.plan.state({next_epoch_, plan.first_step()}));
  auto walk = RankWalk::begin(plan, rules_.rank, first_step, rules_.batch_rows, rules_.record_bytes, store_);
  epoch_ = std::make_unique<Epoch>(Epoch{.plan = std::move(plan),
                                         .walk = std::move(walk),
                                         .origin = std::make_shared<const State>(std::move(origin)),
                                         .next_step = first_step});
  last_epoch_ = next_epoch_ == std::numeric_limits<std::uint32_t>::max();
  ++next_epoch_;
  return {};
}

Result<std::uint32_t> RankRows::walk(const FlightStart& flight, WalkedRows& rows, std::uint32_t from) try {
  store_.walk_to(flight.first_row + flight.row_count);
  const std::uint32_t walked = epoch_->walk->walk(rows, from, flight.row_count);
  store_.walk_to(flight.first_row + from + walked);
  if (from + walked == flight.row_count && epoch_->next_step == epoch_->plan.steps()) epoch_->walk.reset();
  return walked;
} catch (const Exception& failure) {
  return failure.error();
}

}  // namespace dovetail::detail
