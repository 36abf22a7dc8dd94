// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <dovetail/plan.h>

namespace dovetail::test {

/// Lane by lane, the ids in output order.
using NaiveLanes = std::vector<std::vector<std::uint64_t>>;

/// A mix with longer lanes is taken for endless.
inline constexpr std::uint64_t kNaiveRows = 5000;

/// The base lanes of an epoch as docs/order.md tells it, in explicit lists: every record is dealt,
/// every run is filled, every slot of the pool is an element, every row of a mix is dealt a source.
/// Shares only the draws, the permutations and the hash of words with the library. Nothing where a
/// mix asks for what it cannot have.
std::optional<NaiveLanes> naive_lanes(const DatasetShape& dataset, const PlanOptions& options, std::uint32_t epoch);

/// Steps that the definition gives for these lanes of an epoch that begins afresh; empty where the
/// plan must be refused.
std::optional<std::uint64_t> naive_steps(const DatasetShape& dataset, const NaiveLanes& lanes,
                                         const PlanOptions& options);

/// Lanes of `options` in use.
std::uint64_t lanes_of(const PlanOptions& options);
std::uint64_t rows_per_lane_of(const PlanOptions& options);

/// A phase of an epoch after a change of world.
struct NaivePhase {
  NaiveLanes lanes;
  std::uint64_t steps = 0;
};

/// What `options` make of an epoch of which every lane has given `taken` outputs; nothing is left
/// where it has `ended`.
NaivePhase naive_change(const NaiveLanes& lanes, std::uint64_t taken, bool ended, const PlanOptions& options);

/// The id that output `output` of lane `lane` has, `kNoId` where there is none.
PlannedRecord naive_output(const NaiveLanes& lanes, std::uint64_t lane, std::uint64_t output, Tail tail);

}  // namespace dovetail::test
