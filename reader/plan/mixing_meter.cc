// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/mixing_meter.h"

#include <algorithm>
#include <utility>

namespace dovetail::detail {

ShardFinder::ShardFinder(const DatasetShape& dataset) {
  std::uint64_t records = 0;
  for (const ShardShape& shard : dataset.shards) {
    first_id_.push_back(records);
    records += shard.records;
  }
}

std::uint32_t ShardFinder::shard_of(std::uint64_t id) const noexcept {
  const auto after = std::upper_bound(first_id_.begin(), first_id_.end(), id);
  return static_cast<std::uint32_t>(after - first_id_.begin()) - 1;
}

MixingMeter::MixingMeter(const ShardFinder& shards, std::uint64_t rows_per_lane)
    : shards_(shards), rows_per_lane_(rows_per_lane), rows_of_shard_(shards.shards()) {}

void MixingMeter::add(std::span<const std::uint64_t> ids, bool follows) {
  count_shards(ids);
  lanes_.resize(ids.size() / rows_per_lane_);
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    add_to_lane(lanes_[lane], ids.subspan(lane * rows_per_lane_, rows_per_lane_), follows);
  }
}

void MixingMeter::count_shards(std::span<const std::uint64_t> ids) {
  std::uint64_t rows = 0;
  for (const std::uint64_t id : ids) {
    if (id == kNoId) continue;
    const std::uint32_t shard = shards_.shard_of(id);
    if (rows_of_shard_[shard]++ == 0) touched_.push_back(shard);
    ++rows;
  }
  if (rows == 0) return;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  for (const std::uint32_t shard : touched_) {
    const std::uint64_t count = std::exchange(rows_of_shard_[shard], 0);
    second = std::max(second, std::min(first, count));
    first = std::max(first, count);
  }
  const double top_two = static_cast<double>(first + second) / static_cast<double>(rows);
  Tally& tally = rows == ids.size() ? full_ : partial_;
  ++tally.batches;
  tally.shards += static_cast<double>(touched_.size());
  tally.least_shards = std::min<std::uint64_t>(tally.least_shards, touched_.size());
  tally.top_two += top_two;
  tally.most_top_two = std::max(tally.most_top_two, top_two);
  touched_.clear();
}

void MixingMeter::add_to_lane(Lane& lane, std::span<const std::uint64_t> ids, bool follows) {
  if (!follows) lane.last = kNoId;
  for (const std::uint64_t id : ids) {
    if (id != kNoId) lane.ids.push_back(id);
    if (id != kNoId && lane.last != kNoId) {
      ++pairs_;
      if (id - lane.last == 1 || lane.last - id == 1) ++neighbours_;
    }
    lane.last = id;
  }
}

void MixingMeter::end_reader() {
  for (const Lane& lane : lanes_) measure_displacement(lane);
  lanes_.clear();
}

void MixingMeter::measure_displacement(const Lane& lane) {
  const std::size_t count = lane.ids.size();
  if (count == 0) return;
  // A record that comes twice has two places, which keep their order.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
  places.reserve(count);
  for (const std::uint64_t id : lane.ids) places.emplace_back(id, places.size());
  std::sort(places.begin(), places.end());
  std::uint64_t distance = 0;
  for (std::uint64_t rank = 0; rank < count; ++rank) {
    const std::uint64_t place = places[rank].second;
    distance += rank > place ? rank - place : place - rank;
  }
  displacement_ += static_cast<double>(distance) / static_cast<double>(count);
  placed_ += count;
}

Mixing MixingMeter::result() const {
  const auto share = [](double sum, std::uint64_t count) { return count == 0 ? 0 : sum / static_cast<double>(count); };
  const Tally& batches = tally();
  return {.mean_shards = share(batches.shards, batches.batches),
          .least_shards = batches.batches == 0 ? 0 : batches.least_shards,
          .mean_top_two = share(batches.top_two, batches.batches),
          .most_top_two = batches.most_top_two,
          .displacement = share(displacement_, placed_),
          .neighbours = share(static_cast<double>(neighbours_), pairs_)};
}

}  // namespace dovetail::detail
