// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/reader_stats.h>

namespace dovetail::detail {

/// Records of a shard that cannot be delivered: those of a damaged block, or of a shard that cannot
/// be opened.
struct Loss {
  std::uint32_t shard = 0;
  std::uint64_t first_record = 0;  ///< Records [first_record, end_record) of the shard.
  std::uint64_t end_record = 0;
  Error error;               ///< Names the file, and the offset of the block.
  bool whole_shard = false;  ///< The shard cannot be opened; its blocks may be good.
};

/// The damage that a reader has found, each block or shard once.
///
/// Threads: any.
class DamageLog {
 public:
  explicit DamageLog(const Dataset& dataset) : dataset_(dataset) {}

  /// `first_id` is the dataset id of record `loss.first_record`.
  void note(std::uint64_t first_id, Loss loss);
  /// Whether losses were noted since the last `take_new`.
  bool has_new() const noexcept { return has_new_.load(std::memory_order_relaxed); }
  std::vector<LostRange> take_new();

  /// Whether the record lies in a damaged block.
  bool is_damaged(std::uint64_t id) const noexcept;
  /// The loss of the record's block, or else of its shard. Needs: one of them is noted.
  Loss loss_of(std::uint64_t id) const;

 private:
  using Losses = std::map<std::uint64_t, Loss>;  // by the first id; losses do not overlap
  static const Loss* find(const Losses& losses, std::uint64_t id) noexcept;

  const Dataset dataset_;
  mutable std::mutex mutex_;
  Losses blocks_;
  Losses shards_;
  std::vector<LostRange> new_;
  std::atomic<bool> has_new_ = false;
};

}  // namespace dovetail::detail
