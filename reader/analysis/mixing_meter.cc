// SPDX-License-Identifier: Apache-2.0
#include "reader/analysis/mixing_meter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {
namespace {

// A share of fewer pairs depends more on chance than on the order.
constexpr double kLeastPairs = 1000;
constexpr std::uint64_t kLeastPlaces = 256;

double pairs_of(std::uint64_t count) noexcept {
  return count < 2 ? 0 : static_cast<double>(count) * static_cast<double>(count - 1) / 2;
}

/// The number of different parts that ascending ids lie in.
std::uint64_t parts_of(std::span<const std::uint64_t> ids, const std::vector<std::uint64_t>& begins) {
  std::uint64_t parts = 0;
  std::uint64_t end = 0;
  for (const std::uint64_t id : ids) {
    if (id < end) continue;
    end = *std::upper_bound(begins.begin(), begins.end(), id);
    ++parts;
  }
  return parts;
}

/// A fraction: `found` of `all`.
struct Share {
  double found = 0;
  double all = 0;

  double value() const noexcept { return all > 0 ? found / all : 0; }
};

/// `ids` are distinct and ascending. Counts the ids that have a successor in their shard, and those
/// whose successor is in `ids`.
void add_neighbours(Share& share, std::span<const std::uint64_t> ids, const std::vector<std::uint64_t>& shard_begins) {
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= end) end = *std::upper_bound(shard_begins.begin(), shard_begins.end(), ids[i]);
    if (ids[i] + 1 == end) continue;
    ++share.all;
    if (i + 1 < ids.size() && ids[i + 1] == ids[i] + 1) ++share.found;
  }
}

/// The number of pairs of rows with the same number. Sorts `numbers`.
double equal_pairs(std::vector<std::uint64_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  double pairs = 0;
  for (auto first = numbers.begin(); first != numbers.end();) {
    const auto last = std::upper_bound(first, numbers.end(), *first);
    pairs += pairs_of(static_cast<std::uint64_t>(last - first));
    first = last;
  }
  return pairs;
}

/// Mean and minimum of counts.
struct Tally {
  std::uint64_t batches = 0;
  std::uint64_t sum = 0;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();

  void add(std::uint64_t count) noexcept {
    ++batches;
    sum += count;
    least = std::min(least, count);
  }
  double mean() const noexcept { return batches == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(batches); }
};

}  // namespace

MixingMeter::MixingMeter(const DatasetShape& dataset) {
  for (const ShardShape& shard : dataset.shards) {
    shard_begins_.push_back(records_);
    records_ += shard.records;
  }
  shard_begins_.push_back(records_);
  for (std::uint32_t slice = 0; slice <= kMixingSlices; ++slice) {
    // The first id of the slice: slice * records / slices, rounded up.
    const std::uint64_t begin = multiply_divide(slice, records_, kMixingSlices);
    slice_begins_.push_back(begin + (multiply_modulo(slice, records_, kMixingSlices) != 0 ? 1 : 0));
  }
}

std::vector<std::uint64_t> MixingMeter::places(const SampledRows& rows) const {
  std::vector<std::uint64_t> places(records_, kNoId);
  for (std::uint64_t row = 0; row < rows.ids.size(); ++row) {
    const std::uint64_t id = rows.ids[row];
    if (id != kNoId && places[id] == kNoId) places[id] = row;
  }
  return places;
}

BatchMixing MixingMeter::measure_batches(const SampledRows& rows, std::uint64_t width,
                                         const std::vector<std::uint64_t>& other) const {
  Tally slices[2];  // [0] batches with empty rows, [1] full batches
  Tally shards[2];
  Share neighbours;
  Share shared;
  std::vector<std::uint64_t> ids;
  std::vector<std::uint64_t> mates;
  for (std::uint64_t begin = 0; begin < rows.ids.size(); begin += width) {
    ids.assign(rows.ids.begin() + static_cast<std::ptrdiff_t>(begin),
               rows.ids.begin() + static_cast<std::ptrdiff_t>(begin + width));
    ids.erase(std::remove(ids.begin(), ids.end(), kNoId), ids.end());
    if (ids.empty()) continue;
    const std::size_t full = ids.size() == width ? 1 : 0;
    std::sort(ids.begin(), ids.end());
    // A batch can hold a record twice, if a lane wraps or a source begins again.
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    slices[full].add(parts_of(ids, slice_begins_));
    shards[full].add(parts_of(ids, shard_begins_));
    add_neighbours(neighbours, ids, shard_begins_);
    if (other.empty()) continue;
    mates.clear();
    for (const std::uint64_t id : ids) {
      if (other[id] != kNoId) mates.push_back(other[id] / width);
    }
    shared.all += pairs_of(mates.size());
    shared.found += equal_pairs(mates);
  }
  const std::size_t counted = slices[1].batches > 0 ? 1 : 0;
  BatchMixing mixing{.mean_slices = slices[counted].mean(),
                     .least_slices = slices[counted].batches > 0 ? slices[counted].least : 0,
                     .mean_shards = shards[counted].mean(),
                     .least_shards = shards[counted].batches > 0 ? shards[counted].least : 0,
                     .neighbours = neighbours.value(),
                     .shared = {}};
  if (shared.all >= kLeastPairs) mixing.shared = shared.value();
  return mixing;
}

Mixing MixingMeter::measure(const SampledRows& rows, const std::optional<SampledRows>& other) const {
  const std::vector<std::uint64_t> there = other ? places(*other) : std::vector<std::uint64_t>();
  Mixing mixing;
  mixing.rank = measure_batches(rows, rows.batch, there);
  mixing.global = rows.readers == 1 ? mixing.rank : measure_batches(rows, rows.step_rows(), there);
  if (!other) return mixing;
  const std::vector<std::uint64_t> here = places(rows);
  double count = 0;
  double x_sum = 0, y_sum = 0, xx_sum = 0, yy_sum = 0, xy_sum = 0;
  for (std::uint64_t id = 0; id < records_; ++id) {
    if (here[id] == kNoId || there[id] == kNoId) continue;
    const std::uint64_t step = here[id] / rows.step_rows();
    const std::uint64_t other_step = there[id] / rows.step_rows();
    const auto x = static_cast<double>(step);
    const auto y = static_cast<double>(other_step);
    ++count;
    x_sum += x;
    y_sum += y;
    xx_sum += x * x;
    yy_sum += y * y;
    xy_sum += x * y;
  }
  const double spread = (count * xx_sum - x_sum * x_sum) * (count * yy_sum - y_sum * y_sum);
  if (count >= kLeastPlaces && spread > 0) mixing.correlation = (count * xy_sum - x_sum * y_sum) / std::sqrt(spread);
  return mixing;
}

}  // namespace dovetail::detail
