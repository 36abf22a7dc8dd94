// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <dovetail/plan.h>

namespace dovetail::bench {

/// A dataset that exists as numbers only: `shards` shards, an even number, of `records` records on
/// average. Neighbours differ by a tenth, as files that were packed side by side do, so that few
/// shards end with a whole run.
inline std::shared_ptr<DatasetShape> synthetic_dataset(std::uint32_t shards, std::uint64_t records,
                                                       std::uint64_t run_records = 256) {
  constexpr std::uint64_t kRecordBytes = 1000;
  auto dataset = std::make_shared<DatasetShape>();
  dataset->shards.reserve(shards);
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    const std::uint64_t difference = shard / 2 * 7919 % (records / 10 + 1);
    const std::uint64_t count = shard % 2 == 0 ? records + difference : records - difference;
    dataset->shards.push_back({count, run_records, count * kRecordBytes});
  }
  dataset->fingerprint = {shards, records};
  return dataset;
}

}  // namespace dovetail::bench
