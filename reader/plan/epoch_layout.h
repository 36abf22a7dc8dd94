// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <dovetail/plan.h>

#include "reader/plan/plan_facts.h"
#include "reader/plan/shard_line.h"

namespace dovetail {

struct EpochPlan::Layout {
  Layout(std::shared_ptr<const detail::PlanFacts> plan_facts, std::uint32_t epoch_number, std::uint64_t epoch_steps,
         detail::ShardLine shard_line);

  /// Outputs that each lane gives in the epoch.
  std::uint64_t outputs() const noexcept { return steps * facts->rows_per_lane; }
  /// How many of them are records of the lane.
  std::uint64_t delivered(std::uint32_t lane) const noexcept;

  std::shared_ptr<const detail::PlanFacts> facts;
  std::uint32_t epoch;
  std::uint64_t steps;
  detail::ShardLine line;
};

}  // namespace dovetail
