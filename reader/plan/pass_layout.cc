// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/pass_layout.h"

#include <algorithm>
#include <utility>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {
namespace {

std::uint64_t number_runs(std::vector<Piece>& pieces) noexcept {
  std::uint64_t runs = 0;
  for (Piece& piece : pieces) {
    piece.first_run = runs;
    runs += piece.runs();
  }
  return runs;
}

std::uint64_t count_records(const std::vector<Piece>& pieces) noexcept {
  std::uint64_t records = 0;
  for (const Piece& piece : pieces) records += piece.end - piece.begin;
  return records;
}

Permutation make_permutation(std::uint64_t size, const PassKey& key, Purpose purpose) noexcept {
  if (!key.shuffled) return Permutation::identity(size);
  return Permutation::keyed(size, Draws(key.seed, purpose, key.epoch, key.lane));
}

std::uint32_t slots_of_pool(const PassKey& key, std::uint64_t records) noexcept {
  const auto slots = static_cast<std::uint32_t>(std::min<std::uint64_t>(key.pool, records));
  return key.shuffled && slots > 1 ? slots : 0;
}

}  // namespace

Run Piece::run(std::uint64_t index) const noexcept {
  const std::uint64_t multiple = begin - begin % run_records + index * run_records;
  const std::uint64_t first = std::max(begin, multiple);
  const std::uint64_t last = std::min(end, multiple + run_records);
  return {.shard = shard, .first_record = first, .count = last - first, .first_id = shard_id + first};
}

void add_runs(std::vector<RunCount>& counts, const RunCount& more) {
  if (counts.empty() || counts.back().records != more.records) counts.push_back({more.records, 0});
  counts.back().runs += more.runs;
}

RunCount most_common_run(std::vector<RunCount>& counts) {
  std::sort(counts.begin(), counts.end(), [](const RunCount& a, const RunCount& b) { return a.records < b.records; });
  RunCount best;
  RunCount same;
  for (const RunCount& count : counts) {
    if (count.records != same.records) same = {count.records, 0};
    same.runs += count.runs;
    if (same.runs > best.runs) best = same;
  }
  return best;
}

// A sequential lane is the shuffled one with nothing permuted, one run open and no pool: each output then is the input
// of the same number.
PassLayout::PassLayout(std::vector<Piece> pieces, const PassKey& key)
    : pieces_(std::move(pieces)),
      records_(count_records(pieces_)),
      pool_(slots_of_pool(key, records_)),
      order_(make_permutation(number_runs(pieces_), key, Purpose::runs)),
      drain_(make_permutation(pool_, key, Purpose::drain)),
      pool_draws_(key.seed, Purpose::pool, key.epoch, key.lane) {
  groups_ = divide_up(runs(), key.shuffled ? key.open_runs : 1);
  find_odd_runs();
}

Run PassLayout::run(std::uint64_t position) const noexcept {
  const std::uint64_t number = order_(position);
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), number,
                                      [](std::uint64_t run, const Piece& piece) { return run < piece.first_run; });
  const Piece& piece = *(after - 1);
  return piece.run(number - piece.first_run);
}

void PassLayout::run_lengths(std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& lengths) const {
  lengths.assign(static_cast<std::size_t>(end - begin), common_run_);
  for (auto odd = first_odd_run(begin); odd != odd_runs_.end() && odd->position < end; ++odd) {
    lengths[static_cast<std::size_t>(odd->position - begin)] += odd->excess - excess_before(odd);
  }
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

void PassLayout::find_odd_runs() {
  std::vector<RunCount> full_runs;
  for (const Piece& piece : pieces_) {
    const std::uint64_t first = divide_up(piece.begin, piece.run_records);
    const std::uint64_t last = piece.end / piece.run_records;
    if (first < last) add_runs(full_runs, {piece.run_records, last - first});
  }
  common_run_ = most_common_run(full_runs).records;

  for (const Piece& piece : pieces_) {
    const std::uint64_t count = piece.runs();
    if (piece.run_records == common_run_) {
      add_odd_run(piece, 0);
      if (count > 1) add_odd_run(piece, count - 1);
    } else {
      for (std::uint64_t index = 0; index < count; ++index) add_odd_run(piece, index);
    }
  }
  std::sort(odd_runs_.begin(), odd_runs_.end(),
            [](const OddRun& a, const OddRun& b) { return a.position < b.position; });
  std::uint64_t excess = 0;
  for (OddRun& odd : odd_runs_) odd.excess = excess += odd.excess;
}

void PassLayout::add_odd_run(const Piece& piece, std::uint64_t index) {
  const std::uint64_t count = piece.run(index).count;
  if (count == common_run_) return;
  odd_runs_.push_back({order_.inverse(piece.first_run + index), count - common_run_});
}

std::vector<PassLayout::OddRun>::const_iterator PassLayout::first_odd_run(std::uint64_t position) const noexcept {
  return std::lower_bound(odd_runs_.begin(), odd_runs_.end(), position,
                          [](const OddRun& odd, std::uint64_t at) { return odd.position < at; });
}

std::uint64_t PassLayout::excess_before(std::vector<OddRun>::const_iterator odd) const noexcept {
  return odd == odd_runs_.begin() ? 0 : (odd - 1)->excess;
}

std::uint64_t PassLayout::records_before(std::uint64_t position) const noexcept {
  // Modulo 2^64 all along: intermediate values may wrap, the result is below 2^55.
  return position * common_run_ + excess_before(first_odd_run(position));
}

}  // namespace dovetail::detail
