// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <dovetail/plan.h>

namespace dovetail::detail {

/// Everything about a plan that holds in every epoch: the checked inputs and what follows from them.
///
/// Owned jointly by the plan and its epochs.
struct PlanFacts {
  std::shared_ptr<const DatasetShape> dataset;
  PlanOptions options;
  std::uint64_t records = 0;            ///< Of the dataset, 1 to 2^55 - 1.
  std::vector<std::uint64_t> first_id;  ///< Of each shard.
  std::uint32_t empty_shards = 0;
  std::uint32_t readers = 1;        ///< world / replicate
  std::uint32_t lanes = 1;          ///< In use, 1 to 2^24.
  std::uint64_t rows_per_step = 1;  ///< Of all readers.
  std::uint64_t rows_per_lane = 1;  ///< Of each lane, in a step.
  Hash128 plan_id;
  Hash128 order_id;
};

/// Checks options and dataset, and derives the rest. Errors: see `Plan::make`, all but `no_steps`.
Result<PlanFacts> make_facts(std::shared_ptr<const DatasetShape> dataset, const PlanOptions& options);

/// Records of the smallest and of the largest lane.
struct LaneSizes {
  std::uint64_t fewest = 0;
  std::uint64_t most = 0;
};

/// Steps of an epoch. Errors: `no_steps`, naming what would work; `epoch` is for the message.
Result<std::uint64_t> count_steps(const PlanFacts& facts, LaneSizes sizes, std::uint32_t epoch);

}  // namespace dovetail::detail

namespace dovetail {

struct Plan::State : detail::PlanFacts {};

}  // namespace dovetail
