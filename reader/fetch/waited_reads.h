// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/reader_stats.h>

namespace dovetail::detail {

/// Durations of the reads that had to wait, by shard.
///
/// Threads: all functions may be called from any thread.
/// Cost:    about 60 bytes per shard with such reads.
class WaitedReads {
 public:
  void add(std::uint32_t shard, std::uint64_t bytes, std::chrono::nanoseconds duration);
  /// The `most` shards with the longest mean duration, longest first.
  std::vector<ShardReads> slowest(const Dataset& dataset, std::size_t most) const;

 private:
  struct Sum {
    std::uint64_t reads = 0;
    std::uint64_t bytes = 0;
    std::chrono::nanoseconds total{};
    std::chrono::nanoseconds longest{};
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, Sum> shards_;
};

}  // namespace dovetail::detail
