// SPDX-License-Identifier: Apache-2.0
// How well an epoch is mixed, compared with a true shuffle of the same records. docs/mixing.md
// explains the numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <dovetail/export.h>
#include <dovetail/plan.h>

namespace dovetail {

/// Number of slices, the equal parts of a dataset that batches are compared with. Record `id` of
/// `n` lies in slice `id * 16 / n`.
inline constexpr std::uint32_t kMixingSlices = 16;

/// Default limit of the rows that are examined.
inline constexpr std::uint64_t kMixingRows = std::uint64_t{1} << 22;

/// Content of batches. Empty rows never count.
struct DOVETAIL_EXPORT BatchMixing {
  double mean_slices = 0;  ///< Distinct slices in a batch, on average.
  /// Distinct slices in the batch that has the fewest.
  std::uint64_t least_slices = 0;
  double mean_shards = 0;  ///< Distinct shards in a batch, on average.
  /// Distinct shards in the batch that has the fewest.
  std::uint64_t least_shards = 0;
  /// Share of the records whose next record in the shard is in the same batch.
  double neighbours = 0;
  /// Share of the pairs of records in one batch that also share a batch in the other epoch. Empty
  /// with fewer than 1000 pairs, or if the other epoch was not read.
  std::optional<double> shared;
};

/// Mixing of an epoch.
struct DOVETAIL_EXPORT Mixing {
  BatchMixing rank;    ///< Batches of single ranks.
  BatchMixing global;  ///< The batches of all ranks in a step, side by side.
  /// Correlation of the steps of records in this epoch and in the other one. Empty if the other
  /// epoch was not read, or if fewer than 256 records are in both.
  std::optional<double> correlation;
};

/// Labels of the records of some batches, compared with the same labels drawn at random.
struct DOVETAIL_EXPORT LabelMixing {
  std::uint64_t batches = 0;
  std::uint64_t records = 0;
  double mean = 0;  ///< Distinct labels in a batch, on average.
  /// Distinct labels in the batch that has the fewest.
  std::uint64_t least = 0;
  double shuffle_mean = 0;
  std::uint64_t shuffle_least = 0;

  /// Whether the numbers mean anything. Fewer than 4 batches are too similar to all their labels
  /// together.
  bool judged() const noexcept { return batches >= 4; }
};

/// A flaw in the mixing of an epoch, in batches of single ranks or in the global ones.
enum class MixingFlaw : std::uint8_t {
  /// `mean_slices` is below 0.85 of that of a true shuffle.
  few_slices,
  /// `mean_shards` is below 32, and below 0.7 of that of a true shuffle.
  few_shards,
  /// `least_slices`, or `least_shards` below 16, is below half of that of a true shuffle, which is
  /// 8 or more.
  poor_batch,
  /// `correlation` is above 0.4, or below -0.4.
  same_places,
  /// `shared` is above 0.05, and above twice that of a true shuffle.
  same_mates,
  /// `neighbours` is above 0.4, and above three times that of a true shuffle.
  neighbours,
  /// The mean of the labels is below 0.9 of that of a true shuffle.
  few_labels,
};

/// The name of a flaw, such as "few_slices".
DOVETAIL_EXPORT std::string_view to_text(MixingFlaw flaw) noexcept;

struct DOVETAIL_EXPORT MixingReport {
  Mixing plan;
  Mixing true_shuffle;
  std::uint64_t batches = 0;  ///< Measured batches of single ranks.
  /// All batches of single ranks.
  std::uint64_t all_batches = 0;
  /// Measured readers. Fewer than all if no step of all fits, or if seeks are expensive.
  std::uint32_t readers = 0;
  std::optional<LabelMixing> labels;
  std::vector<MixingFlaw> flaws;  ///< In the order of their values.

  bool weak() const noexcept { return !flaws.empty(); }
};

/// Measures the batches of the present phase of an epoch; replicas count once.
///
/// - If the rows exceed `max_rows`, they are sampled: stretches of consecutive steps at even
///   distances. If one batch has more than `max_rows`, nothing is measured, and `batches` is 0.
/// - Batches with empty rows are left out if there are others.
/// - The other epoch is the one before, or epoch 1 for epoch 0. It is read if both fit `max_rows`
///   whole.
/// - The true shuffle is drawn: the same batches, filled from a keyed permutation of all records of
///   the dataset. In a mix each row keeps its source.
///
/// Needs: an epoch of this plan.
/// Cost:  about 1 us and 40 bytes per measured row, and a seek per stretch.
DOVETAIL_EXPORT MixingReport measure_mixing(const Plan& plan, const EpochPlan& epoch,
                                            std::uint64_t max_rows = kMixingRows);

/// Returns the ids of some batches of single ranks. Any number of the first ones is spread over
/// steps and ranks. Takes at most `max_rows` ids in total, and 256 per batch, at even distances.
/// Returns none if a batch has more than `kMixingRows` rows. Needs: `max_rows` is at least 1024.
DOVETAIL_EXPORT std::vector<std::vector<std::uint64_t>> sample_batches(const Plan& plan, const EpochPlan& epoch,
                                                                       std::uint64_t max_rows);

/// Counts the labels of batches; each label is a number. The true shuffle draws as many for each
/// batch from all of them.
DOVETAIL_EXPORT LabelMixing measure_labels(std::span<const std::vector<std::uint64_t>> labels);

/// Adds the labels and their flaw to a report. Good labels remove the flaws of slices and shards,
/// which only guess what lies where. This needs at least 4 batches, and labels that can show a gap:
/// a true shuffle has at least 4 in a batch, and at most 3 per 4 rows.
DOVETAIL_EXPORT void add_labels(MixingReport& report, const LabelMixing& labels);

/// What a map covers, and its resolution.
struct DOVETAIL_EXPORT MixingMapOptions {
  /// The rows of one rank; empty for those of all readers.
  std::optional<std::uint32_t> rank;
  std::uint32_t max_step_bins = 256;
  /// Limit of the examined rows. A smaller limit than there are rows makes a sample; one below a
  /// batch examines nothing.
  std::uint64_t max_rows = kMixingRows;
};

/// Maps the rows of each step to the slices of the dataset that they come from.
struct DOVETAIL_EXPORT MixingMap {
  /// First step of each bin.
  std::vector<std::uint64_t> first_step;
  /// Counts: `rows[slice * first_step.size() + step_bin]`.
  std::vector<std::uint64_t> rows;
  /// Whether all rows were examined.
  bool complete = true;
};

/// Counts the rows of the present phase of an epoch by slice and step.
/// Needs: an epoch of this plan, and a rank of it.
/// Cost:  about 0.5 us per row, and a seek per bin.
DOVETAIL_EXPORT MixingMap map_mixing(const Plan& plan, const EpochPlan& epoch, const MixingMapOptions& options = {});

}  // namespace dovetail
