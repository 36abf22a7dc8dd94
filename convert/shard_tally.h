// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <dovetail/shard_info.h>

#include "writer/output_folder.h"

namespace dovetail::detail {

/// The finished shards of a part: those numbered [begin, end), of each of its datasets.
///
/// Threads: any.
class ShardTally {
 public:
  ShardTally(std::size_t outputs, std::uint32_t begin, std::uint32_t end);

  std::uint32_t begin() const noexcept { return begin_; }
  std::uint32_t end() const noexcept { return end_; }

  /// Takes over the complete shards in the folder of a dataset.
  /// Errors: the system's; an incomplete shard is only ignored.
  Result<void> find(std::size_t output, const OutputFolder& folder, const DatasetId& dataset_id);
  void add(std::size_t output, ShardInfo info, std::uint32_t shard);
  /// Whether all datasets have the shard of this number.
  bool has(std::uint32_t shard) const;
  /// Number of such shards.
  std::uint32_t finished() const;
  /// Needs: all shards are finished.
  std::vector<ShardInfo> infos(std::size_t output) const;

 private:
  bool has_locked(std::uint32_t shard) const;

  std::uint32_t begin_;
  std::uint32_t end_;
  mutable std::mutex mutex_;
  std::vector<std::vector<std::optional<ShardInfo>>> infos_;  // by dataset, then shard
};

/// The facts of a complete shard of a dataset, or nothing if the file is missing, incomplete, or of
/// another dataset.
/// Errors: the system's.
Result<std::optional<ShardInfo>> finished_shard(const OutputFolder& folder, std::uint32_t shard,
                                                const DatasetId& dataset_id);

}  // namespace dovetail::detail
