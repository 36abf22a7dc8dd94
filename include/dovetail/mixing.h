// SPDX-License-Identifier: Apache-2.0
// How well an epoch is mixed, beside a full shuffle of the same records.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <dovetail/plan.h>

namespace dovetail {

/// What mixing looks like from inside the batches. Empty rows count nowhere.
struct Mixing {
  double mean_shards = 0;          ///< Different shards in a batch,
  std::uint64_t least_shards = 0;  ///< and in the batch that has the fewest.
  double mean_top_two = 0;         ///< Share of a batch that comes from its two most frequent shards, 0 to 1,
  double most_top_two = 0;         ///< and of the batch where it is the largest.
  /// How far records are from where sorting would put them: the mean over the rows of a lane of the distance between a
  /// row's place and the place of its record's id among the ids of these rows, divided by their number. 0 for dataset
  /// order, 1/3 for a full shuffle, 1/2 for the reverse.
  double displacement = 0;
  /// Share of the pairs of consecutive rows of a lane whose records are neighbours in the dataset.
  double neighbours = 0;
};

/// What is wrong with the mixing of an epoch.
enum class MixingFlaw : std::uint8_t {
  few_shards,  ///< `mean_shards` is below 32, and below 0.7 of that of a full shuffle.
  poor_batch,  ///< `least_shards` is below 16, and below half of that of a full shuffle, which is 8 or more.
  top_heavy,   ///< `mean_top_two` is above 0.2, and above twice that of a full shuffle.
  in_place,    ///< `displacement` is below half of that of a full shuffle.
  neighbours,  ///< `neighbours` is above 0.05, and above three times that of a full shuffle.
};

struct MixingReport {
  Mixing plan;
  Mixing full_shuffle;
  std::uint64_t batches = 0;      ///< That were measured, each of one reader,
  std::uint64_t all_batches = 0;  ///< of these.
  std::uint64_t rows = 0;         ///< That were measured.
  std::vector<MixingFlaw> flaws;  ///< In the order of their values.

  bool weak() const noexcept { return !flaws.empty(); }
};

/// Measures the batches of the present phase of an epoch; replicas count once. What does not fit `max_rows` is sampled:
/// stretches of consecutive steps at even distances, on readers at even distances. Batches with empty rows are left out
/// where there are others.
///
/// The full shuffle is drawn, not computed: as many batches of as many rows, filled from a keyed permutation of all
/// records of the dataset. In a mix each row keeps its source.
///
/// Needs: an epoch of this plan.
/// Cost:  some 0.5 to 1 us and 32 bytes a measured row, and a seek for each stretch.
MixingReport measure_mixing(const Plan& plan, const EpochPlan& epoch, std::uint64_t max_rows = std::uint64_t{1} << 22);

/// Where a map looks, and how fine it is.
struct MixingMapOptions {
  std::optional<std::uint32_t> rank;  ///< Of one rank; else of all readers.
  std::uint32_t max_shard_bins = 256;
  std::uint32_t max_step_bins = 256;
  std::uint64_t max_rows = std::uint64_t{1} << 22;  ///< Looked at; fewer than there are is a sample.
};

/// Which shards the rows of each step come from.
struct MixingMap {
  std::vector<std::uint32_t> shards;       ///< That occur, ascending.
  std::vector<std::uint32_t> first_shard;  ///< Of each bin of shards, as a place in `shards`.
  std::vector<std::uint64_t> first_step;   ///< Of each bin of steps.
  std::vector<std::uint64_t> rows;         ///< Counts: `rows[shard_bin * first_step.size() + step_bin]`.
  bool complete = true;                    ///< Whether all rows were looked at.
};

/// Counts the rows of the present phase of an epoch by shard and step.
/// Needs: an epoch of this plan, and a rank of it. Cost: as `measure_mixing`.
MixingMap map_mixing(const Plan& plan, const EpochPlan& epoch, const MixingMapOptions& options = {});

}  // namespace dovetail
