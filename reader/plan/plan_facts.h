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

/// Of a dataset, and rows of an epoch.
inline constexpr std::uint64_t kMaxRecords = (std::uint64_t{1} << 55) - 1;
inline constexpr std::uint32_t kMaxLanes = 1u << 24;
inline constexpr std::uint32_t kMaxOpenRuns = 1u << 16;
inline constexpr std::uint32_t kMaxPool = 1u << 24;
/// Of a run, so that two numbers of its records add up in 32 bits.
inline constexpr std::uint64_t kMaxRunLength = std::uint64_t{1} << 31;

/// Shards that are ordered on their own: all of a dataset, or in a mix those of one source.
struct Source {
  std::uint32_t first_shard = 0;
  std::uint32_t shards = 0;
  std::uint64_t first_id = 0;
  std::uint64_t records = 0;
};

/// Lanes and the rows that each gives to a step.
struct LaneGrid {
  std::uint32_t lanes = 1;
  std::uint64_t rows_per_lane = 1;

  friend bool operator==(const LaneGrid&, const LaneGrid&) = default;
};

/// The past of an epoch that is continued after a change of world.
struct EpochPast {
  std::uint32_t epoch = 0;
  std::vector<State::Phase> phases;  ///< Those that are over; at least one.
};

/// Everything about a plan that holds in every epoch: the checked inputs and what follows from them.
///
/// Owned jointly by the plan and its epochs.
struct PlanFacts {
  std::shared_ptr<const DatasetShape> dataset;
  PlanOptions options;
  std::uint64_t records = 0;            ///< Of the dataset, 1 to 2^55 - 1.
  std::vector<std::uint64_t> first_id;  ///< Of each shard.
  std::uint32_t empty_shards = 0;
  std::vector<Source> sources;            ///< One, but for a mix.
  std::shared_ptr<const MixEntries> mix;  ///< Null where there is none.
  std::uint32_t readers = 1;              ///< world / replicate
  std::uint64_t rows_per_step = 1;        ///< Of all readers.
  LaneGrid grid;                          ///< Of epochs that begin afresh: 1 to 2^24 lanes,
  std::optional<LaneLengths> lengths;     ///< and how long these are, where that is the same in every epoch.
  Hash128 mix_hash;
  Hash128 plan_id;
  Hash128 order_id;
  Position start;
  bool changed_at_start = false;  ///< The rest of the epoch of `start` is cut anew there.
  std::optional<EpochPast> past;

  /// Whether the lanes of an epoch, and so its steps, depend on the epoch.
  bool lanes_vary() const noexcept {
    return options.assign == Assign::files && options.order == OrderKind::shuffle && !options.sticky;
  }
};

/// Checks options and dataset, and derives the rest but for the steps. Errors: see `Plan::make`, all but `no_steps`.
Result<PlanFacts> make_facts(std::shared_ptr<const DatasetShape> dataset, const PlanOptions& options);

/// Computes the ids from the rest.
void derive_ids(PlanFacts& facts);

/// What a state names the dataset and the mix by.
Hash128 state_content(const PlanFacts& facts) noexcept;

/// Lengths of the lanes of an epoch that begins afresh with `grid`.
/// Errors: those of `MixSchedule::rows`; `no_steps` where a source of a mix has no record for every lane.
Result<LaneLengths> lane_lengths(const PlanFacts& facts, const LaneGrid& grid, std::uint32_t epoch);

/// Steps of an epoch that begins afresh. Errors: `no_steps`, naming what would work.
Result<std::uint64_t> count_steps(const PlanFacts& facts, const LaneGrid& grid, const LaneLengths& lengths);

/// Whether every epoch has steps, where lanes of whole shards vary with the epoch: judged by the poorest lane that any
/// order of the shards makes. Errors: those of `count_steps`.
Result<void> check_files(const PlanFacts& facts);

}  // namespace dovetail::detail
