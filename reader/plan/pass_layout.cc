// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/pass_layout.h"

#include <algorithm>
#include <utility>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {
namespace {

Permutation make_permutation(std::uint64_t size, const PassKey& key, Purpose purpose) noexcept {
  if (!key.shuffled) return Permutation::identity(size);
  return Permutation::keyed(size, Draws(key.seed, purpose, key.epoch, key.lane));
}

std::uint32_t slots_of_pool(const PassKey& key, std::uint64_t records) noexcept {
  const auto slots = static_cast<std::uint32_t>(std::min<std::uint64_t>(key.pool, records));
  return key.shuffled && slots > 1 ? slots : 0;
}

// The most groups that leave each group at least `open_runs` runs; one group if there are fewer
// runs.
std::uint64_t count_groups(const PassKey& key, std::uint64_t runs) noexcept {
  if (!key.shuffled) return runs;
  return std::max<std::uint64_t>(runs / key.open_runs, runs > 0 ? 1 : 0);
}

}  // namespace

// A sequential lane is a shuffled lane with an identity permutation, one open run and no pool. So
// each output is the input of the same number.
PassLayout::PassLayout(LaneRuns runs, const PassKey& key)
    : runs_(std::move(runs)),
      shuffled_(key.shuffled),
      groups_(count_groups(key, runs_.runs())),
      pool_(slots_of_pool(key, runs_.records())),
      order_(make_permutation(runs_.runs(), key, Purpose::runs)),
      drain_(make_permutation(pool_, key, Purpose::drain)),
      pool_draws_(key.seed, Purpose::pool, key.epoch, key.lane),
      stride_draws_(key.seed, Purpose::stride, key.epoch, key.lane),
      pause_draws_(key.seed, Purpose::pause, key.epoch, key.lane) {
  for (const LaneRuns::OddRun& odd : runs_.odd_runs()) {
    odd_runs_.push_back({order_.inverse(odd.number), odd.records - runs_.common_run()});
  }
  std::sort(odd_runs_.begin(), odd_runs_.end(),
            [](const OddRun& a, const OddRun& b) { return a.position < b.position; });
  std::uint64_t excess = 0;
  for (OddRun& odd : odd_runs_) odd.excess = excess += odd.excess;
}

Stride PassLayout::deal(std::uint64_t position, std::uint64_t length) const noexcept {
  Stride records{.size = length};
  if (!shuffled_ || length == 1) return records;
  const auto [start, step] = stride_draws_.pair(position);
  records.start = scale_below(start, length);
  records.step = stride_over(length, step);
  return records;
}

std::uint64_t PassLayout::pause(std::uint64_t position, std::uint64_t turns) const noexcept {
  return scale_below(pause_draws_.word(position), turns);
}

std::uint64_t PassLayout::group_begin(std::uint64_t group) const noexcept {
  return groups_ == runs() ? group : multiply_divide(group, runs(), groups_);
}

std::uint64_t PassLayout::group_of(std::uint64_t input) const noexcept {
  std::uint64_t group = 0;
  std::uint64_t end = groups_;
  while (end - group > 1) {
    const std::uint64_t middle = group + (end - group) / 2;
    (inputs_before(middle) <= input ? group : end) = middle;
  }
  return group;
}

std::uint64_t PassLayout::largest_group() const noexcept {
  return groups_ == 0 ? 0 : divide_up(runs(), groups_);
}

PassLayout::OddIterator PassLayout::first_odd(std::uint64_t position) const noexcept {
  return std::lower_bound(odd_runs_.begin(), odd_runs_.end(), position,
                          [](const OddRun& run, std::uint64_t at) { return run.position < at; });
}

std::uint64_t PassLayout::records_before(std::uint64_t position) const noexcept {
  // The arithmetic is modulo 2^64: intermediate values may wrap, the result is below 2^55.
  return position * runs_.common_run() + excess_before(first_odd(position));
}

}  // namespace dovetail::detail
