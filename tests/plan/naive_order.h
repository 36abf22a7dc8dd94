// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <dovetail/plan.h>

namespace dovetail::testing {

/// Records of every lane in one epoch, without passes: lane by lane, the ids in output order.
using NaiveLanes = std::vector<std::vector<std::uint64_t>>;

/// The order as docs/order.md tells it, in explicit lists: every record is dealt, every run is filled, every slot of
/// the pool is an element. Shares only the draws and the permutations with the library.
NaiveLanes naive_lanes(const DatasetShape& dataset, const PlanOptions& options, std::uint32_t epoch);

/// Steps that the definition gives for these lanes; empty where the plan must be refused.
std::optional<std::uint64_t> naive_steps(const NaiveLanes& lanes, const PlanOptions& options);

}  // namespace dovetail::testing
