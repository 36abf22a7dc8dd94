// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include <dovetail/plan.h>

namespace dovetail::test {

/// A dataset of shards with these records, all with one run length.
inline std::shared_ptr<DatasetShape> shape_of(const std::vector<std::uint64_t>& records,
                                              std::uint64_t run_records = 4) {
  auto shape = std::make_shared<DatasetShape>();
  for (const std::uint64_t count : records) {
    shape->shards.push_back({.records = count, .run_records = run_records, .raw_bytes = 100 * count});
  }
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

/// The inputs of the pool that the outputs of a plan's only lane in epoch 0 are: what the pool
/// alone does.
inline std::vector<std::uint64_t> inputs_of_outputs(const std::shared_ptr<const DatasetShape>& shape,
                                                    PlanOptions options) {
  const auto outputs = [&] {
    const LaneOrder lane = Plan::make(shape, options).value().epoch(0)->lane(0);
    return ids_of(lane, 0, lane.records());
  };
  std::vector<std::uint64_t> ids = outputs();
  options.pool = 1;
  const std::vector<std::uint64_t> inputs = outputs();
  std::vector<std::uint64_t> number(inputs.size());
  for (std::uint64_t input = 0; input < inputs.size(); ++input) number[inputs[input]] = input;
  for (std::uint64_t& id : ids) id = number[id];
  return ids;
}

}  // namespace dovetail::test
