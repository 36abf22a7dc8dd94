// SPDX-License-Identifier: Apache-2.0
#include <dovetail/mixing.h>

#include <algorithm>
#include <array>

#include "reader/plan/batch_sample.h"
#include "reader/plan/hash_words.h"
#include "reader/plan/mixing_meter.h"
#include "reader/plan/permutation.h"

namespace dovetail {
namespace {

// Long enough to hold many batches of a lane, and many enough that the beginning and the end are no exception.
constexpr std::uint64_t kMeasuredBins = 16;
// So that a plan with the order `global` is not compared with itself.
constexpr std::uint64_t kReferenceTag = 0x6D6978696E67;  // "mixing"

/// Draws records as a full shuffle would.
class FullShuffle {
 public:
  FullShuffle(const Plan& plan, std::uint32_t epoch) {
    const DatasetShape& dataset = plan.dataset();
    const bool mixed = plan.options().mix.enabled() && !dataset.source_shards.empty();
    std::uint64_t first_id = 0;
    std::size_t shard = 0;
    for (std::uint32_t source = 0; source < (mixed ? dataset.source_shards.size() : 1); ++source) {
      const std::size_t end = mixed ? shard + dataset.source_shards[source] : dataset.shards.size();
      std::uint64_t records = 0;
      for (; shard < end; ++shard) records += dataset.shards[shard].records;
      const std::uint64_t seed =
          detail::hash_words(std::array<std::uint64_t, 3>{kReferenceTag, plan.options().seed, source}).low;
      const detail::Draws keys(seed, detail::Purpose::global, epoch, 0);
      sources_.push_back({first_id, records, 0, detail::Permutation::keyed(records, keys)});
      first_id += records;
    }
  }

  /// A record of the source that `id` comes from.
  std::uint64_t in_place_of(std::uint64_t id) noexcept {
    std::size_t number = sources_.size() - 1;
    while (id < sources_[number].first_id) --number;
    Source& source = sources_[number];
    return source.first_id + source.order(source.drawn++ % source.records);
  }

 private:
  struct Source {
    std::uint64_t first_id;
    std::uint64_t records;
    std::uint64_t drawn;
    detail::Permutation order;
  };
  std::vector<Source> sources_;
};

/// Both sides of the comparison see the same batches, row by row.
class Comparison {
 public:
  Comparison(const Plan& plan, const EpochPlan& epoch, const detail::ShardFinder& shards)
      : planned_(shards, epoch.rows_per_lane()), full_(shards, epoch.rows_per_lane()), shuffle_(plan, epoch.epoch()) {}

  void add(std::span<const PlannedRecord> rows, bool follows) {
    ids_.clear();
    drawn_.clear();
    for (const PlannedRecord& row : rows) {
      ids_.push_back(row.id);
      drawn_.push_back(row.id == kNoId ? kNoId : shuffle_.in_place_of(row.id));
    }
    planned_.add(ids_, follows);
    full_.add(drawn_, follows);
  }
  void end_reader() {
    planned_.end_reader();
    full_.end_reader();
  }
  const detail::MixingMeter& planned() const noexcept { return planned_; }
  const detail::MixingMeter& full() const noexcept { return full_; }

 private:
  detail::MixingMeter planned_;
  detail::MixingMeter full_;
  FullShuffle shuffle_;
  std::vector<std::uint64_t> ids_;
  std::vector<std::uint64_t> drawn_;
};

std::vector<MixingFlaw> flaws_of(const Mixing& plan, const Mixing& full) {
  const auto least = static_cast<double>(plan.least_shards);
  const auto full_least = static_cast<double>(full.least_shards);
  std::vector<MixingFlaw> flaws;
  const auto note = [&](bool found, MixingFlaw flaw) {
    if (found) flaws.push_back(flaw);
  };
  // A batch of 32 shards holds three rows in a hundred of each: what more shards would change is small.
  note(plan.mean_shards < 32 && plan.mean_shards < 0.7 * full.mean_shards, MixingFlaw::few_shards);
  // A batch of a few rows has a bad one by chance alone.
  note(least < 16 && least < 0.5 * full_least && full_least >= 8, MixingFlaw::poor_batch);
  note(plan.mean_top_two > 0.2 && plan.mean_top_two > 2 * full.mean_top_two, MixingFlaw::top_heavy);
  note(plan.displacement < 0.5 * full.displacement, MixingFlaw::in_place);
  note(plan.neighbours > 0.05 && plan.neighbours > 3 * full.neighbours, MixingFlaw::neighbours);
  return flaws;
}

}  // namespace

MixingReport measure_mixing(const Plan& plan, const EpochPlan& epoch, std::uint64_t max_rows) {
  const detail::BatchSample sample(plan, epoch, {.rows = max_rows, .bins = kMeasuredBins, .reader = {}});
  const detail::ShardFinder shards(plan.dataset());
  Comparison comparison(plan, epoch, shards);
  for (const std::uint32_t reader : sample.readers()) {
    detail::BatchWalk walk(epoch, reader);
    std::uint64_t next_step = epoch.steps();
    for (std::uint64_t bin = 0; bin < sample.bins(); ++bin) {
      const detail::BatchSample::Window window = sample.window(bin);
      for (std::uint64_t step = window.first_step; step < window.first_step + window.steps; ++step) {
        comparison.add(walk.batch(step), step == next_step);
        next_step = step + 1;
      }
    }
    comparison.end_reader();
  }
  MixingReport report{.plan = comparison.planned().result(),
                      .full_shuffle = comparison.full().result(),
                      .batches = comparison.planned().batches(),
                      .all_batches = (epoch.steps() - epoch.first_step()) * plan.readers(),
                      .rows = comparison.planned().batches() * plan.options().batch,
                      .flaws = {}};
  report.flaws = flaws_of(report.plan, report.full_shuffle);
  return report;
}

}  // namespace dovetail
