// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <dovetail/plan.h>

namespace dovetail::test {

/// The rows of one step of one rank.
inline std::vector<PlannedRecord> rows_of(const EpochPlan& epoch, std::uint32_t rank, std::uint64_t step) {
  std::vector<PlannedRecord> rows;
  std::vector<Pick> picks(epoch.rows_per_lane());
  for (std::uint32_t lane = 0; lane < epoch.lanes_per_rank(); ++lane) {
    LaneCursor cursor = epoch.lane(epoch.first_lane(rank) + lane).cursor(epoch.first_output(step));
    cursor.next(picks);
    for (const Pick& pick : picks) rows.push_back(cursor.record(pick));
  }
  return rows;
}

}  // namespace dovetail::test
