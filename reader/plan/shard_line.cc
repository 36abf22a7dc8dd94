// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/shard_line.h"

#include <algorithm>

#include "reader/plan/draws.h"
#include "reader/plan/permutation.h"
#include "reader/plan/wide_math.h"

namespace dovetail::detail {
namespace {

/// Where lane `lane` begins in the line, with `Assign::even`.
std::uint64_t even_cut(const PlanFacts& facts, std::uint64_t lane) noexcept {
  return multiply_divide(lane, facts.records, facts.lanes);
}

}  // namespace

ShardLine::ShardLine(const PlanFacts& facts, std::uint32_t epoch) {
  const std::vector<ShardShape>& shards = facts.dataset->shards;
  const bool even = facts.options.assign == Assign::even;
  const Permutation order =
      facts.options.order == OrderKind::sequential
          ? Permutation::identity(shards.size())
          : Permutation::keyed(shards.size(), Draws(facts.options.seed, Purpose::shards, epoch, 0));
  shards_.reserve(shards.size());
  if (even) {
    record_ends_.reserve(shards.size());
  } else {
    lane_records_.resize(std::min<std::size_t>(facts.lanes, shards.size()));
  }
  std::uint64_t records = 0;
  for (std::size_t position = 0; position < shards.size(); ++position) {
    shards_.push_back(static_cast<std::uint32_t>(order(position)));
    const std::uint64_t shard_records = shards[shards_.back()].records;
    records += shard_records;
    if (even) {
      record_ends_.push_back(records);
    } else {
      lane_records_[position % facts.lanes] += shard_records;
    }
  }
}

LaneSizes even_sizes(const PlanFacts& facts) noexcept {
  return {facts.records / facts.lanes, divide_up(facts.records, facts.lanes)};
}

LaneSizes ShardLine::sizes(const PlanFacts& facts) const noexcept {
  if (facts.options.assign == Assign::even) return even_sizes(facts);
  const auto [fewest, most] = std::minmax_element(lane_records_.begin(), lane_records_.end());
  return {lane_records_.size() < facts.lanes ? 0 : *fewest, *most};
}

std::uint64_t ShardLine::lane_records(const PlanFacts& facts, std::uint32_t lane) const noexcept {
  if (facts.options.assign == Assign::even) return even_cut(facts, std::uint64_t{lane} + 1) - even_cut(facts, lane);
  return lane < lane_records_.size() ? lane_records_[lane] : 0;
}

std::vector<Piece> ShardLine::pieces(const PlanFacts& facts, std::uint32_t lane) const {
  std::vector<Piece> pieces;
  if (facts.options.assign == Assign::files) {
    for (std::size_t position = lane; position < shards_.size(); position += facts.lanes) {
      append_piece(facts, shards_[position], 0, facts.dataset->shards[shards_[position]].records, pieces);
    }
    return pieces;
  }
  const std::uint64_t begin = even_cut(facts, lane);
  const std::uint64_t end = even_cut(facts, std::uint64_t{lane} + 1);
  const auto first = std::upper_bound(record_ends_.begin(), record_ends_.end(), begin);
  for (auto position = static_cast<std::size_t>(first - record_ends_.begin()); position < shards_.size(); ++position) {
    const std::uint64_t shard_begin = position == 0 ? 0 : record_ends_[position - 1];
    if (shard_begin >= end) break;
    append_piece(facts, shards_[position], std::max(begin, shard_begin) - shard_begin,
                 std::min(end, record_ends_[position]) - shard_begin, pieces);
  }
  return pieces;
}

void ShardLine::append_piece(const PlanFacts& facts, std::uint32_t shard, std::uint64_t begin, std::uint64_t end,
                             std::vector<Piece>& pieces) const {
  if (begin == end) return;
  const ShardShape& shape = facts.dataset->shards[shard];
  pieces.push_back({.begin = begin,
                    .end = end,
                    .run_records = std::min(shape.run_records, shape.records),
                    .shard_id = facts.first_id[shard],
                    .shard = shard});
}

}  // namespace dovetail::detail
