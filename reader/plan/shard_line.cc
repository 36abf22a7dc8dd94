// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/shard_line.h"

#include <algorithm>
#include <array>

#include "reader/plan/draws.h"
#include "reader/plan/hash_words.h"
#include "reader/plan/permutation.h"

namespace dovetail::detail {
namespace {

Permutation order_of_shards(const PlanFacts& facts, const Pass& pass) noexcept {
  const std::uint32_t shards = facts.sources[pass.source].shards;
  if (facts.options.order != OrderKind::shuffle) return Permutation::identity(shards);
  return Permutation::keyed(shards, line_draws(facts, pass, Purpose::shards));
}

}  // namespace

std::uint64_t pass_seed(const PlanFacts& facts, const Pass& pass) noexcept {
  if (facts.mix == nullptr) return facts.options.seed;
  return hash_words(std::array<std::uint64_t, 4>{kMixTag, facts.options.seed, pass.source, pass.number}).low;
}

Draws line_draws(const PlanFacts& facts, const Pass& pass, Purpose purpose) noexcept {
  const Pass drawn = facts.options.sticky ? Pass{0, pass.source, 0} : pass;
  return Draws(pass_seed(facts, drawn), purpose, drawn.epoch, 0);
}

ShardLine::ShardLine(const PlanFacts& facts, std::uint32_t lanes, const Pass& pass)
    : lanes_(lanes), even_(LaneLengths::even(facts.sources[pass.source].records, lanes)) {
  const Source& source = facts.sources[pass.source];
  const Permutation order = order_of_shards(facts, pass);
  shards_.reserve(source.shards);
  record_ends_.reserve(source.shards);
  std::uint64_t records = 0;
  for (std::uint32_t position = 0; position < source.shards; ++position) {
    shards_.push_back(source.first_shard + static_cast<std::uint32_t>(order(position)));
    records += facts.dataset->shards[shards_.back()].records;
    record_ends_.push_back(records);
  }
}

std::vector<std::uint64_t> ShardLine::file_lanes() const {
  // Do not allocate for all lanes: a state may name millions.
  std::vector<std::uint64_t> lanes(std::min<std::size_t>(lanes_, shards_.size()));
  std::uint64_t begin = 0;
  for (std::size_t position = 0; position < shards_.size(); ++position) {
    lanes[position % lanes_] += record_ends_[position] - begin;
    begin = record_ends_[position];
  }
  return lanes;
}

std::vector<LanePiece> ShardLine::pieces(const PlanFacts& facts, std::uint32_t lane) const {
  std::vector<LanePiece> pieces;
  if (facts.options.assign == Assign::files) {
    pieces.reserve(shards_.size() / lanes_ + 1);
    for (std::size_t position = lane; position < shards_.size(); position += lanes_) {
      append_piece(facts, shards_[position], 0, facts.dataset->shards[shards_[position]].records, pieces);
    }
    return pieces;
  }
  const std::uint64_t begin = even_.begin(lane);
  const std::uint64_t end = even_.begin(std::uint64_t{lane} + 1);
  if (begin == end) return pieces;
  const auto first = std::upper_bound(record_ends_.begin(), record_ends_.end(), begin);
  const auto last = std::lower_bound(first, record_ends_.end(), end);
  pieces.reserve(static_cast<std::size_t>(last - first) + 1);
  std::uint64_t shard_begin = first == record_ends_.begin() ? 0 : *(first - 1);
  for (auto shard_end = first; shard_end <= last; ++shard_end) {
    append_piece(facts, shards_[static_cast<std::size_t>(shard_end - record_ends_.begin())],
                 std::max(begin, shard_begin) - shard_begin, std::min(end, *shard_end) - shard_begin, pieces);
    shard_begin = *shard_end;
  }
  return pieces;
}

void ShardLine::append_piece(const PlanFacts& facts, std::uint32_t shard, std::uint64_t begin, std::uint64_t end,
                             std::vector<LanePiece>& pieces) const {
  if (begin == end) return;
  const ShardShape& shape = facts.dataset->shards[shard];
  pieces.push_back({.begin = begin,
                    .end = end,
                    .run_records = std::min(shape.run_records, shape.records),
                    .shard_id = facts.first_id[shard],
                    .shard = shard});
}

}  // namespace dovetail::detail
