// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <dovetail/mixing.h>
#include <dovetail/plan.h>

namespace dovetail::detail {

/// Finds the shard of a record.
class ShardFinder {
 public:
  explicit ShardFinder(const DatasetShape& dataset);
  /// Needs the id of a record.
  std::uint32_t shard_of(std::uint64_t id) const noexcept;
  std::uint32_t shards() const noexcept { return static_cast<std::uint32_t>(first_id_.size()); }

 private:
  std::vector<std::uint64_t> first_id_;
};

/// Adds up what `Mixing` says, reader after reader and batch after batch.
class MixingMeter {
 public:
  /// Ownership: borrows `shards`.
  MixingMeter(const ShardFinder& shards, std::uint64_t rows_per_lane);

  /// The ids of a batch, lane after lane; `kNoId` in empty rows. `follows`: it is the next step after the last one.
  void add(std::span<const std::uint64_t> ids, bool follows);
  void end_reader();

  Mixing result() const;
  /// That `result` speaks of.
  std::uint64_t batches() const noexcept { return tally().batches; }

 private:
  struct Tally {
    std::uint64_t batches = 0;
    double shards = 0;
    double top_two = 0;
    std::uint64_t least_shards = ~std::uint64_t{0};
    double most_top_two = 0;
  };
  struct Lane {
    std::vector<std::uint64_t> ids;
    std::uint64_t last = kNoId;
  };

  const Tally& tally() const noexcept { return full_.batches > 0 ? full_ : partial_; }
  void count_shards(std::span<const std::uint64_t> ids);
  void add_to_lane(Lane& lane, std::span<const std::uint64_t> ids, bool follows);
  void measure_displacement(const Lane& lane);

  const ShardFinder& shards_;
  std::uint64_t rows_per_lane_;
  Tally full_;     // batches without empty rows,
  Tally partial_;  // and with some
  std::vector<std::uint32_t> rows_of_shard_;
  std::vector<std::uint32_t> touched_;
  std::vector<Lane> lanes_;
  std::uint64_t pairs_ = 0;
  std::uint64_t neighbours_ = 0;
  std::uint64_t placed_ = 0;
  double displacement_ = 0;  // sum over the rows
};

}  // namespace dovetail::detail
