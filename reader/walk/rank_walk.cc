// SPDX-License-Identifier: Apache-2.0
#include "reader/walk/rank_walk.h"

#include <algorithm>
#include <deque>
#include <type_traits>

#include "reader/plan/lane_walk.h"
#include "reader/walk/live_runs.h"

namespace dovetail::detail {

namespace {

template <class E>
class RankWalkOf final : public RankWalk {
 public:
  RankWalkOf(const EpochPlan& epoch, std::uint32_t rank, std::uint64_t first_step, std::uint32_t batch_rows,
             std::uint32_t record_bytes, RunMemory& memory)
      : batch_rows_(batch_rows), rows_per_lane_(batch_rows / epoch.lanes_per_rank()), passes_(memory, record_bytes) {
    const std::uint32_t first_lane = epoch.first_lane(rank);
    for (std::uint32_t lane = 0; lane < epoch.lanes_per_rank(); ++lane) {
      lanes_.emplace_back(LaneLayout::of(epoch.lane(first_lane + lane)), epoch.first_output(first_step), passes_);
    }
  }

  std::uint32_t walk(WalkedRows& rows, std::uint32_t from, std::uint32_t until) override {
    std::vector<E>& entries = entries_of(rows);
    if (entries.size() < until) entries.resize(until);
    std::uint32_t row = from;
    while (row < until) {
      LaneWalk<LivePasses<E>>& lane = lanes_[row % batch_rows_ / rows_per_lane_];
      const std::uint32_t lane_end =
          lanes_.size() == 1 ? until : std::min(until, (row / rows_per_lane_ + 1) * rows_per_lane_);
      const auto part = lane.next(std::span(entries).subspan(row, lane_end - row));
      if (part.rows == 0) break;
      rows.add(static_cast<std::uint32_t>(part.rows), part.status);
      row += static_cast<std::uint32_t>(part.rows);
    }
    return row - from;
  }

 private:
  static std::vector<E>& entries_of(WalkedRows& rows) {
    if constexpr (std::is_same_v<E, Entry>) {
      return rows.same;
    } else {
      return rows.sized;
    }
  }

  std::uint32_t batch_rows_;
  std::uint32_t rows_per_lane_;
  LivePasses<E> passes_;
  std::deque<LaneWalk<LivePasses<E>>> lanes_;  // a deque, because its elements must not move
};

}  // namespace

void WalkedRows::add(std::uint32_t rows, RowStatus status) {
  const std::uint32_t begin = parts.empty() ? 0 : parts.back().end;
  if (!parts.empty() && parts.back().status == status) {
    parts.back().end += rows;
  } else {
    parts.push_back({begin + rows, status});
  }
}

std::unique_ptr<RankWalk> RankWalk::begin(const EpochPlan& epoch, std::uint32_t rank, std::uint64_t first_step,
                                          std::uint32_t batch_rows, std::uint32_t record_bytes, RunMemory& memory) {
  if (record_bytes != 0) {
    return std::make_unique<RankWalkOf<Entry>>(epoch, rank, first_step, batch_rows, record_bytes, memory);
  }
  return std::make_unique<RankWalkOf<SizedEntry>>(epoch, rank, first_step, batch_rows, record_bytes, memory);
}

}  // namespace dovetail::detail
