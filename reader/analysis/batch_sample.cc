// SPDX-License-Identifier: Apache-2.0
#include "reader/analysis/batch_sample.h"

#include <algorithm>
#include <bit>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {
namespace {

// Readers of a sample that does not hold all readers.
constexpr std::uint64_t kSampledReaders = 16;
// The most pool draws that all seeks of a sample may take together: about one second.
constexpr std::uint64_t kMaxSeekDraws = std::uint64_t{1} << 27;
// The least number of seeks, even if they take more draws than that.
constexpr std::uint64_t kLeastSeeks = 4;
// The least number of batches of each reader, before more readers are sampled.
constexpr std::uint64_t kLeastBatches = 4;

/// The approximate number of draws that a seek in all lanes of a reader takes.
std::uint64_t draws_of_seek(const PlanOptions& options, const EpochPlan& epoch) noexcept {
  if (options.order != OrderKind::shuffle) return epoch.lanes_per_rank();
  const std::uint64_t records = epoch.records() / epoch.lanes() + 1;
  const std::uint64_t pool = std::min<std::uint64_t>(options.pool, records);
  return pool * static_cast<std::uint64_t>(std::bit_width(pool)) * epoch.lanes_per_rank();
}

/// `chosen` numbers below `count`, at even distances.
std::vector<std::uint32_t> spread(std::uint32_t count, std::uint64_t chosen) {
  std::vector<std::uint32_t> numbers;
  for (std::uint64_t i = 0; i < chosen; ++i) {
    numbers.push_back(static_cast<std::uint32_t>(multiply_divide(i, count, chosen)));
  }
  return numbers;
}

}  // namespace

BatchSample::BatchSample(const Plan& plan, const EpochPlan& epoch, const SampleLimits& limits)
    : first_step_(epoch.first_step()), steps_(epoch.steps() - epoch.first_step()) {
  const std::uint32_t readers = limits.reader ? 1 : plan.readers();
  const std::uint64_t batch = plan.options().batch;
  const std::uint64_t budget = limits.rows / batch;
  if (budget == 0) {
    complete_ = steps_ == 0;
    return;
  }
  complete_ = !product_overflows(steps_, readers) && steps_ * readers <= budget;
  bins_ = std::min(limits.bins, steps_);
  std::uint64_t chosen = readers;
  if (!complete_) {
    const std::uint64_t seeks = std::max(kLeastSeeks, kMaxSeekDraws / draws_of_seek(plan.options(), epoch));
    chosen = limits.all_readers
                 ? std::min({chosen, budget, std::max(seeks, kSampledReaders)})
                 : std::min({chosen, kSampledReaders, std::max<std::uint64_t>(1, budget / kLeastBatches)});
    bins_ = std::max<std::uint64_t>(1, std::min({bins_, budget / chosen, seeks / chosen}));
    steps_per_bin_ = std::max<std::uint64_t>(1, budget / (chosen * bins_));
  }
  readers_ = limits.reader ? std::vector<std::uint32_t>{*limits.reader} : spread(readers, chosen);
}

std::uint64_t BatchSample::bin_begin(std::uint64_t bin) const noexcept {
  return first_step_ + multiply_divide(bin, steps_, bins_);
}

BatchSample::Window BatchSample::window(std::uint64_t bin) const noexcept {
  const std::uint64_t begin = bin_begin(bin);
  const std::uint64_t length = bin_begin(bin + 1) - begin;
  if (steps_per_bin_ == 0 || length <= steps_per_bin_) return {bin, begin, length};
  return {bin, begin + (length - steps_per_bin_) / 2, steps_per_bin_};
}

BatchWalk::BatchWalk(const EpochPlan& epoch, std::uint32_t reader)
    : epoch_(epoch), next_step_(epoch.steps()), picks_(epoch.rows_per_lane()) {
  const std::uint32_t count = epoch.lanes_per_rank();
  for (std::uint32_t lane = 0; lane < count; ++lane) lanes_.push_back(epoch.lane(reader * count + lane));
}

std::span<const PlannedRecord> BatchWalk::batch(std::uint64_t step) {
  if (step != next_step_ || cursors_.empty()) {
    cursors_.clear();
    for (const LaneOrder& lane : lanes_) cursors_.push_back(lane.cursor(epoch_.first_output(step)));
  }
  next_step_ = step + 1;
  rows_.clear();
  for (LaneCursor& cursor : cursors_) {
    cursor.next(picks_);
    for (const Pick& pick : picks_) rows_.push_back(cursor.record(pick));
  }
  return rows_;
}

}  // namespace dovetail::detail
