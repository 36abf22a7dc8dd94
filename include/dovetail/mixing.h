// SPDX-License-Identifier: Apache-2.0
// How well an epoch is mixed, beside a true shuffle of the same records. docs/mixing.md explains the numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <dovetail/plan.h>

namespace dovetail {

/// Equal parts of the dataset that batches are held against: record `id` of `n` lies in slice `id * 16 / n`.
inline constexpr std::uint32_t kMixingSlices = 16;

/// Rows that are looked at, where nothing else is asked for.
inline constexpr std::uint64_t kMixingRows = std::uint64_t{1} << 22;

/// What batches hold. Empty rows count nowhere.
struct BatchMixing {
  double mean_slices = 0;          ///< Different slices in a batch,
  std::uint64_t least_slices = 0;  ///< and in the batch that has the fewest.
  double mean_shards = 0;          ///< Different shards in a batch,
  std::uint64_t least_shards = 0;  ///< and in the batch that has the fewest.
  /// Share of the records whose next one in the shard is in the same batch.
  double neighbours = 0;
  /// Share of the pairs of records in one batch that share a batch in the other epoch as well. Nothing where there are
  /// fewer than 1000 pairs, or where the other epoch was not read.
  std::optional<double> shared;
};

/// What an epoch is made of.
struct Mixing {
  BatchMixing rank;    ///< Batches of single ranks.
  BatchMixing global;  ///< The batches of all ranks in a step, side by side.
  /// Of the steps of records in this epoch and in the other one. Nothing where the other epoch was not read, or where
  /// fewer than 256 records are in both.
  std::optional<double> correlation;
};

/// Labels of the records of some batches, beside the same labels drawn at random.
struct LabelMixing {
  std::uint64_t batches = 0;
  std::uint64_t records = 0;
  double mean = 0;          ///< Different labels in a batch,
  std::uint64_t least = 0;  ///< and in the batch that has the fewest.
  double shuffle_mean = 0;
  std::uint64_t shuffle_least = 0;

  /// Whether they say anything: fewer batches are too much like all their labels.
  bool judged() const noexcept { return batches >= 4; }
};

/// What is wrong with the mixing of an epoch, in batches of single ranks or in the global ones.
enum class MixingFlaw : std::uint8_t {
  few_slices,   ///< `mean_slices` is below 0.85 of that of a true shuffle.
  few_shards,   ///< `mean_shards` is below 32, and below 0.7 of that of a true shuffle.
  poor_batch,   ///< `least_slices` or `least_shards` (below 16) is below half of that of a true shuffle, 8 or more.
  same_places,  ///< `correlation` is above 0.4, or below -0.4.
  same_mates,   ///< `shared` is above 0.05, and above twice that of a true shuffle.
  neighbours,   ///< `neighbours` is above 0.4, and above three times that of a true shuffle.
  few_labels,   ///< The mean of the labels is below 0.9 of that of a true shuffle.
};

struct MixingReport {
  Mixing plan;
  Mixing true_shuffle;
  std::uint64_t batches = 0;      ///< Of single ranks that were measured,
  std::uint64_t all_batches = 0;  ///< of these.
  std::uint32_t readers = 0;      ///< That were measured; not all where no step of all fits, or where seeks are dear.
  std::optional<LabelMixing> labels;
  std::vector<MixingFlaw> flaws;  ///< In the order of their values.

  bool weak() const noexcept { return !flaws.empty(); }
};

/// Measures the batches of the present phase of an epoch; replicas count once. What does not fit `max_rows` is sampled:
/// stretches of consecutive steps at even distances. Batches with empty rows are left out where there are others. The
/// other epoch is the one before, or epoch 1 for epoch 0; it is read where both fit `max_rows` whole. Where one batch has
/// more than `max_rows`, nothing is measured, and `batches` is 0.
///
/// The true shuffle is drawn: the same batches, filled from a keyed permutation of all records of the dataset. In a mix
/// each row keeps its source.
///
/// Needs: an epoch of this plan.
/// Cost:  about 1 us and 40 bytes a measured row, and a seek for each stretch.
MixingReport measure_mixing(const Plan& plan, const EpochPlan& epoch, std::uint64_t max_rows = kMixingRows);

/// The ids of some batches of single ranks; any number of the first ones is spread over steps and ranks. No more than
/// `max_rows` together, and 256 of a batch, at even distances; none where a batch has more than `kMixingRows`. `max_rows`
/// is at least 1024.
std::vector<std::vector<std::uint64_t>> sample_batches(const Plan& plan, const EpochPlan& epoch,
                                                       std::uint64_t max_rows);

/// Counts the labels of batches, each a number. The true shuffle draws as many for each batch from all of them.
LabelMixing measure_labels(std::span<const std::vector<std::uint64_t>> labels);

/// Adds the labels and their flaw to a report. Good labels take the flaws of slices and shards away, which only guess what
/// lies where: from 4 batches, and where a true shuffle has at least 4 labels in a batch, and at most 3 in 4 rows.
void add_labels(MixingReport& report, const LabelMixing& labels);

/// Where a map looks, and how fine it is.
struct MixingMapOptions {
  std::optional<std::uint32_t> rank;  ///< Of one rank; else of all readers.
  std::uint32_t max_step_bins = 256;
  std::uint64_t max_rows = kMixingRows;  ///< Looked at; fewer than there are is a sample, fewer than a batch nothing.
};

/// Which slices of the dataset the rows of each step come from.
struct MixingMap {
  std::vector<std::uint64_t> first_step;  ///< Of each bin of steps.
  std::vector<std::uint64_t> rows;        ///< Counts: `rows[slice * first_step.size() + step_bin]`.
  bool complete = true;                   ///< Whether all rows were looked at.
};

/// Counts the rows of the present phase of an epoch by slice and step.
/// Needs: an epoch of this plan, and a rank of it. Cost: some 0.5 us a row, and a seek for each bin.
MixingMap map_mixing(const Plan& plan, const EpochPlan& epoch, const MixingMapOptions& options = {});

}  // namespace dovetail
