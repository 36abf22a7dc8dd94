// SPDX-License-Identifier: Apache-2.0
#include <dovetail/mixing.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "reader/analysis/batch_sample.h"
#include "reader/analysis/mixing_meter.h"
#include "reader/plan/hash_words.h"
#include "reader/plan/permutation.h"

namespace dovetail {
namespace {

// Few enough that a bin holds many batches of a lane, and enough that the begin and the end of the
// epoch weigh little.
constexpr std::uint64_t kMeasuredBins = 16;
// Gives the reference another seed, so that a plan with the order `global` is not compared with
// itself.
constexpr std::uint64_t kReferenceTag = 0x6D6978696E67;  // "mixing"

/// Draws records in the order of a true shuffle.
class TrueShuffle {
 public:
  TrueShuffle(const Plan& plan, std::uint32_t epoch) {
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

  /// The next record of the source that `id` belongs to.
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

/// Reads the ids of the batches of a sample.
detail::SampledRows read_rows(const Plan& plan, const EpochPlan& epoch, const detail::BatchSample& sample) {
  detail::SampledRows rows{.batch = plan.options().batch, .readers = sample.readers().size(), .ids = {}};
  std::uint64_t steps = 0;
  for (std::uint64_t bin = 0; bin < sample.bins(); ++bin) steps += sample.window(bin).steps;
  rows.ids.resize(steps * rows.step_rows());
  if (steps == 0) return rows;
  for (std::uint64_t place = 0; place < rows.readers; ++place) {
    detail::BatchWalk walk(epoch, sample.readers()[place]);
    std::uint64_t* out = rows.ids.data() + place * rows.batch;
    for (std::uint64_t bin = 0; bin < sample.bins(); ++bin) {
      const detail::BatchSample::Window window = sample.window(bin);
      for (std::uint64_t step = 0; step < window.steps; ++step, out += rows.step_rows()) {
        const std::span<const PlannedRecord> batch = walk.batch(window.first_step + step);
        std::transform(batch.begin(), batch.end(), out, [](const PlannedRecord& row) { return row.id; });
      }
    }
  }
  return rows;
}

detail::BatchSample whole_steps(const Plan& plan, const EpochPlan& epoch, std::uint64_t max_rows) {
  return detail::BatchSample(plan, epoch, {.rows = max_rows, .bins = kMeasuredBins, .all_readers = true});
}

/// All rows of epoch `other`; empty if they exceed `max_rows`.
std::optional<detail::SampledRows> read_other(const Plan& plan, std::uint32_t other, std::uint64_t max_rows) {
  const Result<EpochPlan> epoch = plan.epoch(other);
  if (!epoch) return {};
  const detail::BatchSample sample = whole_steps(plan, *epoch, max_rows);
  if (!sample.complete()) return {};
  return read_rows(plan, *epoch, sample);
}

void shuffle(detail::SampledRows& rows, const Plan& plan, std::uint32_t epoch) {
  TrueShuffle drawn(plan, epoch);
  for (std::uint64_t& id : rows.ids) {
    if (id != kNoId) id = drawn.in_place_of(id);
  }
}

/// Calls `note` for each flaw of batches, with true if the plan has the flaw.
void judge(const BatchMixing& plan, const BatchMixing& shuffle, const std::function<void(bool, MixingFlaw)>& note) {
  const auto poor = [](std::uint64_t least, std::uint64_t shuffled) { return shuffled >= 8 && 2 * least < shuffled; };
  note(plan.mean_slices < 0.85 * shuffle.mean_slices, MixingFlaw::few_slices);
  // A batch of 32 shards has about 3 % of its rows from each. More shards would change little.
  note(plan.mean_shards < 32 && plan.mean_shards < 0.7 * shuffle.mean_shards, MixingFlaw::few_shards);
  // Batches of a few rows include a poor one by chance alone, so small expected counts are ignored.
  note(poor(plan.least_slices, shuffle.least_slices) ||
           (plan.least_shards < 16 && poor(plan.least_shards, shuffle.least_shards)),
       MixingFlaw::poor_batch);
  // In a large dataset chance repeats almost no pair, and ten times almost nothing is harmless.
  note(plan.shared && *plan.shared > 0.05 && *plan.shared > 2 * shuffle.shared.value_or(0), MixingFlaw::same_mates);
  note(plan.neighbours > 0.4 && plan.neighbours > 3 * shuffle.neighbours, MixingFlaw::neighbours);
}

std::vector<MixingFlaw> flaws_of(const Mixing& plan, const Mixing& shuffle) {
  std::set<MixingFlaw> flaws;
  const auto note = [&](bool found, MixingFlaw flaw) {
    if (found) flaws.insert(flaw);
  };
  judge(plan.rank, shuffle.rank, note);
  judge(plan.global, shuffle.global, note);
  note(plan.correlation && (*plan.correlation > 0.4 || *plan.correlation < -0.4), MixingFlaw::same_places);
  return {flaws.begin(), flaws.end()};
}

}  // namespace

std::string_view to_text(MixingFlaw flaw) noexcept {
  constexpr std::string_view kTexts[] = {"few_slices", "few_shards", "poor_batch", "same_places",
                                         "same_mates", "neighbours", "few_labels"};
  return kTexts[static_cast<std::size_t>(flaw)];
}

MixingReport measure_mixing(const Plan& plan, const EpochPlan& epoch, std::uint64_t max_rows) {
  const detail::BatchSample sample = whole_steps(plan, epoch, max_rows);
  const detail::MixingMeter meter(plan.dataset());
  const std::uint32_t other_number = epoch.epoch() == 0 ? 1 : epoch.epoch() - 1;
  detail::SampledRows rows = read_rows(plan, epoch, sample);
  std::optional<detail::SampledRows> other;
  if (sample.complete() && plan.records() <= max_rows) other = read_other(plan, other_number, max_rows);

  MixingReport report;
  report.batches = rows.ids.size() / rows.batch;
  report.all_batches = (epoch.steps() - epoch.first_step()) * plan.readers();
  report.readers = static_cast<std::uint32_t>(rows.readers);
  report.plan = meter.measure(rows, other);
  shuffle(rows, plan, epoch.epoch());
  if (other) shuffle(*other, plan, other_number);
  report.true_shuffle = meter.measure(rows, other);
  report.flaws = flaws_of(report.plan, report.true_shuffle);
  return report;
}

}  // namespace dovetail
