// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include <dovetail/plan.h>

namespace dovetail::testing {

/// A dataset of shards with these records, all with one run length.
inline std::shared_ptr<DatasetShape> shape_of(const std::vector<std::uint64_t>& records,
                                              std::uint64_t run_records = 4) {
  auto shape = std::make_shared<DatasetShape>();
  for (const std::uint64_t count : records) shape->shards.push_back({count, run_records, 100 * count});
  shape->fingerprint = {0x0123456789ABCDEF, 0xFEDCBA9876543210};
  return shape;
}

/// The ids of outputs [first, first + count) of a lane, walked from `first`.
inline std::vector<std::uint64_t> ids_of(const LaneOrder& lane, std::uint64_t first, std::uint64_t count) {
  LaneCursor cursor = lane.cursor(first);
  std::vector<Pick> picks(count);
  cursor.next(picks);
  std::vector<std::uint64_t> ids;
  for (const Pick& pick : picks) ids.push_back(cursor.record(pick).id);
  return ids;
}

}  // namespace dovetail::testing
