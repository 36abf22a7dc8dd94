// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <dovetail/plan.h>
#include <dovetail/state.h>

#include "reader/plan/lane_lengths.h"
#include "reader/plan/mix_schedule.h"

namespace dovetail::detail {

/// The most records of a dataset, and the most rows of an epoch.
inline constexpr std::uint64_t kMaxRecords = (std::uint64_t{1} << 55) - 1;
inline constexpr std::uint32_t kMaxLanes = 1u << 24;
inline constexpr std::uint32_t kMaxOpenRuns = 1u << 16;
inline constexpr std::uint32_t kMaxPool = 1u << 24;
/// The most records of a run: the sum of two record numbers fits 32 bits.
inline constexpr std::uint64_t kMaxRunLength = std::uint64_t{1} << 31;

/// Shards that are ordered together: all shards of a dataset, or those of one source of a mix.
struct Source {
  std::uint32_t first_shard = 0;
  std::uint32_t shards = 0;
  std::uint64_t first_id = 0;
  std::uint64_t records = 0;
};

/// Lanes, and the rows that each lane gives to a step.
struct LaneGrid {
  std::uint32_t lanes = 1;
  std::uint64_t rows_per_lane = 1;

  friend bool operator==(const LaneGrid&, const LaneGrid&) = default;
};

/// The past of an epoch that is continued after a change of world.
struct EpochPast {
  std::uint32_t epoch = 0;
  std::vector<State::Phase> phases;  ///< The phases that are over; at least one.
};

/// The facts about a plan that hold in every epoch: the checked inputs and the values derived from
/// them.
///
/// Owned jointly by the plan and its epochs.
struct PlanFacts {
  std::shared_ptr<const DatasetShape> dataset;
  PlanOptions options;
  std::uint64_t records = 0;            ///< Records of the dataset, 1 to 2^55 - 1.
  std::vector<std::uint64_t> first_id;  ///< First id of each shard.
  std::uint32_t empty_shards = 0;
  std::vector<Source> sources;            ///< One source, unless the dataset is a mix.
  std::shared_ptr<const MixEntries> mix;  ///< Null if the dataset is not a mix.
  std::uint32_t readers = 1;              ///< world / replicate
  std::uint64_t rows_per_step = 1;        ///< Of all readers together.
  LaneGrid grid;                          ///< Of epochs that begin afresh; 1 to 2^24 lanes.
  std::optional<LaneLengths> lengths;     ///< Of the lanes of `grid`, if every epoch has the same.
  Hash128 mix_hash;
  Hash128 plan_id;
  Hash128 order_id;
  Position start;
  bool changed_at_start = false;  ///< The rest of the epoch of `start` is cut anew there.
  std::optional<EpochPast> past;

  /// Whether the lane lengths, and so the steps, differ between epochs.
  bool lanes_vary() const noexcept {
    return options.assign == Assign::files && options.order == OrderKind::shuffle && !options.sticky;
  }
};

/// Checks options and dataset, and derives all other facts except the steps. Errors: those of
/// `Plan::make` except `no_steps`.
Result<PlanFacts> make_facts(std::shared_ptr<const DatasetShape> dataset, const PlanOptions& options);

/// Computes the ids from the other facts.
void derive_ids(PlanFacts& facts);

/// The hash by which a state identifies the dataset and the mix.
Hash128 state_content(const PlanFacts& facts) noexcept;

/// The lane lengths of an epoch that begins afresh with `grid`.
/// Errors: those of `MixSchedule::rows`; `no_steps` if a source of a mix has fewer records than
///         there are lanes.
Result<LaneLengths> lane_lengths(const PlanFacts& facts, const LaneGrid& grid, std::uint32_t epoch);

/// The steps of an epoch that begins afresh. Errors: `no_steps`, which names values that work.
Result<std::uint64_t> count_steps(const PlanFacts& facts, const LaneGrid& grid, const LaneLengths& lengths);

/// For lanes of whole shards that vary with the epoch: checks that every epoch has steps. The check
/// uses the smallest lane that any order of the shards can make. Errors: those of `count_steps`.
Result<void> check_files(const PlanFacts& facts);

}  // namespace dovetail::detail
