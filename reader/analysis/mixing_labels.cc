// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <dovetail/mixing.h>

#include "reader/analysis/batch_sample.h"
#include "reader/plan/permutation.h"
#include "reader/plan/wide_math.h"

namespace dovetail {
namespace {

constexpr std::uint64_t kMostRowsOfBatch = 256;
constexpr std::uint64_t kMostBins = 64;
constexpr double kLeastLabels = 4;
constexpr double kMostLabels = 0.75;  // share of the rows

detail::Permutation random_order(std::uint64_t size) {
  return detail::Permutation::keyed(size, detail::Draws(0, detail::Purpose::global, 0, 0));
}

/// Counts the different labels of each batch: the mean, and the least count.
void count_labels(std::span<const std::vector<std::uint64_t>> batches, double& mean, std::uint64_t& least) {
  std::uint64_t sum = 0;
  least = std::numeric_limits<std::uint64_t>::max();
  for (const std::vector<std::uint64_t>& batch : batches) {
    const std::uint64_t count = std::set<std::uint64_t>(batch.begin(), batch.end()).size();
    sum += count;
    least = std::min(least, count);
  }
  mean = static_cast<double>(sum) / static_cast<double>(batches.size());
}

}  // namespace

std::vector<std::vector<std::uint64_t>> sample_batches(const Plan& plan, const EpochPlan& epoch,
                                                       std::uint64_t max_rows) {
  const std::uint64_t batch = plan.options().batch;
  if (batch > kMixingRows) return {};
  const std::uint64_t taken = std::min(batch, kMostRowsOfBatch);
  const std::uint64_t most_batches = max_rows / taken;
  const bool too_many = detail::product_overflows(most_batches, batch);
  const std::uint64_t rows = too_many ? std::numeric_limits<std::uint64_t>::max() : most_batches * batch;
  const detail::BatchSample sample(plan, epoch, {.rows = rows, .bins = kMostBins});
  std::vector<std::vector<std::uint64_t>> batches;
  for (const std::uint32_t reader : sample.readers()) {
    detail::BatchWalk walk(epoch, reader);
    for (std::uint64_t bin = 0; bin < sample.bins(); ++bin) {
      const detail::BatchSample::Window window = sample.window(bin);
      for (std::uint64_t step = 0; step < window.steps; ++step) {
        const std::span<const PlannedRecord> planned = walk.batch(window.first_step + step);
        std::vector<std::uint64_t> ids;
        for (std::uint64_t i = 0; i < taken; ++i) {
          const std::uint64_t id = planned[detail::multiply_divide(i, batch, taken)].id;
          if (id != kNoId) ids.push_back(id);
        }
        batches.push_back(std::move(ids));
      }
    }
  }
  const detail::Permutation order = random_order(batches.size());
  std::vector<std::vector<std::uint64_t>> spread;
  for (std::uint64_t i = 0; i < batches.size(); ++i) spread.push_back(std::move(batches[order(i)]));
  return spread;
}

LabelMixing measure_labels(std::span<const std::vector<std::uint64_t>> labels) {
  LabelMixing mixing;
  std::vector<std::uint64_t> all;
  for (const std::vector<std::uint64_t>& batch : labels) all.insert(all.end(), batch.begin(), batch.end());
  mixing.batches = labels.size();
  mixing.records = all.size();
  if (labels.empty()) return mixing;
  count_labels(labels, mixing.mean, mixing.least);
  const detail::Permutation order = random_order(all.size());
  std::vector<std::vector<std::uint64_t>> drawn(labels.size());
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    while (drawn[i].size() < labels[i].size()) drawn[i].push_back(all[order(next++)]);
  }
  count_labels(drawn, mixing.shuffle_mean, mixing.shuffle_least);
  return mixing;
}

void add_labels(MixingReport& report, const LabelMixing& labels) {
  report.labels = labels;
  if (!labels.judged()) return;
  if (labels.mean < 0.9 * labels.shuffle_mean) {
    report.flaws.push_back(MixingFlaw::few_labels);
    return;
  }
  const double rows = static_cast<double>(labels.records) / static_cast<double>(labels.batches);
  // If labels hardly repeat, or all are the same, their counts cannot show whether some are
  // missing.
  if (labels.shuffle_mean < kLeastLabels || labels.shuffle_mean > kMostLabels * rows) return;
  const auto guessed = [](MixingFlaw flaw) { return flaw <= MixingFlaw::poor_batch; };
  report.flaws.erase(std::remove_if(report.flaws.begin(), report.flaws.end(), guessed), report.flaws.end());
}

}  // namespace dovetail
