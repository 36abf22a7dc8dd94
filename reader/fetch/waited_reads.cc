// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/waited_reads.h"

#include <algorithm>
#include <tuple>

namespace dovetail::detail {

void WaitedReads::add(std::uint32_t shard, std::uint64_t bytes, std::chrono::nanoseconds duration) {
  const std::lock_guard lock(mutex_);
  Sum& sum = shards_[shard];
  ++sum.reads;
  sum.bytes += bytes;
  sum.total += duration;
  sum.longest = std::max(sum.longest, duration);
}

std::vector<ShardReads> WaitedReads::slowest(const Dataset& dataset, std::size_t most) const {
  std::vector<ShardReads> found;
  std::unique_lock lock(mutex_);
  found.reserve(shards_.size());
  for (const auto& [shard, sum] : shards_) {
    found.push_back({.file = {},
                     .shard = shard,
                     .reads = sum.reads,
                     .bytes = sum.bytes,
                     .mean = sum.total / static_cast<std::int64_t>(sum.reads),
                     .longest = sum.longest});
  }
  lock.unlock();
  const auto listed = found.begin() + static_cast<std::ptrdiff_t>(std::min(most, found.size()));
  std::partial_sort(found.begin(), listed, found.end(), [](const ShardReads& a, const ShardReads& b) {
    return std::tuple(b.mean, a.shard) < std::tuple(a.mean, b.shard);
  });
  found.erase(listed, found.end());
  for (ShardReads& reads : found) reads.file = dataset.shard_path(reads.shard);
  return found;
}

}  // namespace dovetail::detail
