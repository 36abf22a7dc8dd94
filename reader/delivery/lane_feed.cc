// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/lane_feed.h"

#include <algorithm>
#include <utility>

namespace dovetail::detail {

LaneFeed::LaneFeed(LaneOrder order, std::uint64_t first_output, std::uint32_t open_ahead, bool wraps,
                   std::uint64_t extent_bytes)
    : order_(std::move(order)),
      cursor_(order_.cursor(first_output)),
      runs_(order_.runs()),
      open_ahead_(open_ahead),
      wraps_(wraps),
      extent_bytes_(extent_bytes) {
  // Of the runs before the next one only what the cursor has in flight is still to come.
  const std::vector<Pick> pooled = cursor_.pooled();
  const std::vector<LaneCursor::OpenRun> open = cursor_.open_runs();
  const std::uint64_t next = cursor_.next_run();
  base_ = next;
  for (const Pick& pick : pooled) base_ = std::min(base_, pick.run);
  for (const LaneCursor::OpenRun& run : open) base_ = std::min(base_, run.run);
  window_.resize(next - base_);
  looked_ahead_ = next;
  for (std::uint64_t position = base_; position < next; ++position) entry(position).run = order_.run(position);
  for (const Pick& pick : pooled) entry(pick.run).live.push_back(pick.record);
  for (const LaneCursor::OpenRun& run : open) {
    RunEntry& begun = entry(run.run);
    for (std::uint64_t record = run.next_record; record < begun.run.count; ++record) begun.live.push_back(record);
  }
  for (RunEntry& begun : window_) {
    begun.unplanned = begun.live.size();
    if (begun.unplanned == begun.run.count) begun.live.clear();
  }
}

void LaneFeed::next(std::span<Pick> out) {
  cursor_.next(out);
}

RunEntry& LaneFeed::entry(std::uint64_t position) {
  while (position - base_ >= window_.size()) {
    RunEntry& added = window_.emplace_back();
    added.run = order_.run(base_ + window_.size() - 1);
    added.unplanned = added.run.count;
  }
  return window_[position - base_];
}

void LaneFeed::look_ahead(ShardTable& shards) {
  if (runs_ == 0) return;
  const std::uint64_t next = cursor_.next_run();
  const std::uint64_t pass_end = wraps_ ? (next / runs_ + 1) * runs_ : runs_;
  const std::uint64_t until = std::min(pass_end, next + open_ahead_);
  for (; looked_ahead_ < until; ++looked_ahead_) shards.want(entry(looked_ahead_).run.shard);
}

bool LaneFeed::resolve(const Pick& pick, ShardTable& shards) {
  if (!pick.planned()) return true;
  RunEntry& run = entry(pick.run);
  if (run.resolved) return true;
  std::shared_ptr<const ShardFile> file = shards.find(run.run.shard);
  if (file == nullptr && !shards.failure(run.run.shard).has_value()) {
    shards.want(run.run.shard);
    return false;
  }
  resolve_entry(run, std::move(file));
  return true;
}

void LaneFeed::resolve_entry(RunEntry& entry, std::shared_ptr<const ShardFile> file) {
  entry.resolved = true;
  if (file == nullptr) return;
  const Run& run = entry.run;
  const std::uint64_t end = run.first_record + run.count;
  entry.extents = make_extents(file, run.shard, run.first_record, end, extent_bytes_);
  entry.first_block = entry.extents.front()->first_block;
  entry.end_block = entry.extents.back()->first_block + entry.extents.back()->blocks;
  for (std::uint32_t e = 0; e < entry.extents.size(); ++e) {
    Extent& extent = *entry.extents[e];
    entry.extent_of_block.insert(entry.extent_of_block.end(), extent.blocks, e);
    const std::uint64_t from = std::max(run.first_record, file->first_record(extent.first_block));
    const std::uint64_t to = std::min(end, file->first_record(extent.first_block + extent.blocks));
    extent.remaining = to - from;
    if (!entry.live.empty()) {
      extent.remaining =
          static_cast<std::uint64_t>(std::count_if(entry.live.begin(), entry.live.end(), [&](std::uint64_t record) {
            return run.first_record + record >= from && run.first_record + record < to;
          }));
    }
  }
  entry.file = std::move(file);
}

PlannedRow LaneFeed::plan_row(const Pick& pick) {
  PlannedRow row;
  if (!pick.planned()) return row;
  RunEntry& entry = this->entry(pick.run);
  --entry.unplanned;
  row.id = entry.run.first_id + pick.record;
  row.status = order_.status(pick);
  if (entry.file == nullptr) {
    row.status = RowStatus::damaged_empty;
    return row;
  }
  const std::uint64_t record = entry.run.first_record + pick.record;
  std::uint64_t block = entry.first_block;
  for (std::uint64_t size = entry.end_block - entry.first_block; size > 1;) {
    const std::uint64_t half = size / 2;
    if (entry.file->first_record(block + half) <= record) block += half;
    size -= half;
  }
  Extent* const extent = entry.extents[entry.extent_of_block[block - entry.first_block]].get();
  row.extent = extent;
  row.block = static_cast<std::uint32_t>(block - extent->first_block);
  row.record = static_cast<std::uint32_t>(record - entry.file->first_record(block));
  return row;
}

void LaneFeed::forget_used_up() {
  while (!window_.empty() && window_.front().unplanned == 0) {
    window_.pop_front();
    ++base_;
  }
}

void LaneFeed::for_each_extent(const std::function<void(Extent&)>& visit) {
  for (RunEntry& entry : window_) {
    for (const std::shared_ptr<Extent>& extent : entry.extents) visit(*extent);
  }
}

}  // namespace dovetail::detail
