// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <dovetail/mixing.h>

#include "reader/plan/batch_sample.h"
#include "reader/plan/mixing_meter.h"
#include "reader/plan/wide_math.h"

namespace dovetail {
namespace {

/// Every row that was looked at, before it is known which shards there are.
class Rows {
 public:
  explicit Rows(const DatasetShape& dataset) : finder_(dataset) {}

  void add(std::span<const PlannedRecord> rows, std::uint64_t step_bin) {
    for (const PlannedRecord& row : rows) {
      if (row.id != kNoId) rows_.push_back(std::uint64_t{finder_.shard_of(row.id)} << 32 | step_bin);
    }
  }

  MixingMap to_map(std::uint32_t max_shard_bins, std::uint64_t step_bins) {
    std::sort(rows_.begin(), rows_.end());
    MixingMap map;
    for (const std::uint64_t row : rows_) {
      const auto shard = static_cast<std::uint32_t>(row >> 32);
      if (map.shards.empty() || map.shards.back() != shard) map.shards.push_back(shard);
    }
    const std::uint64_t bins = std::min<std::uint64_t>(std::max(1u, max_shard_bins), map.shards.size());
    for (std::uint64_t bin = 0; bin < bins; ++bin) {
      map.first_shard.push_back(static_cast<std::uint32_t>(detail::multiply_divide(bin, map.shards.size(), bins)));
    }
    map.rows.resize(bins * step_bins);
    std::uint64_t place = 0;
    std::uint64_t bin = 0;
    for (const std::uint64_t row : rows_) {
      if (row >> 32 != map.shards[place]) ++place;
      if (bin + 1 < bins && place == map.first_shard[bin + 1]) ++bin;
      ++map.rows[bin * step_bins + (row & 0xFFFFFFFF)];
    }
    return map;
  }

 private:
  detail::ShardFinder finder_;
  std::vector<std::uint64_t> rows_;  // shard << 32 | bin of steps
};

}  // namespace

MixingMap map_mixing(const Plan& plan, const EpochPlan& epoch, const MixingMapOptions& options) {
  detail::SampleLimits limits{.rows = options.max_rows, .bins = options.max_step_bins, .reader = {}};
  if (options.rank) limits.reader = *options.rank / plan.options().replicate;
  const detail::BatchSample sample(plan, epoch, limits);
  Rows rows(plan.dataset());
  for (const std::uint32_t reader : sample.readers()) {
    detail::BatchWalk walk(epoch, reader);
    for (std::uint64_t bin = 0; bin < sample.bins(); ++bin) {
      const detail::BatchSample::Window window = sample.window(bin);
      for (std::uint64_t step = 0; step < window.steps; ++step) rows.add(walk.batch(window.first_step + step), bin);
    }
  }
  MixingMap map = rows.to_map(options.max_shard_bins, sample.bins());
  map.complete = sample.complete();
  for (std::uint64_t bin = 0; bin < sample.bins(); ++bin) map.first_step.push_back(sample.bin_begin(bin));
  return map;
}

}  // namespace dovetail
