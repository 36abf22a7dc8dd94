// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/run_window.h"

#include <algorithm>
#include <utility>

namespace dovetail::detail {

RunWindow::RunWindow(Stretch stretch, std::uint64_t extent_bytes)
    : stretch_(std::move(stretch)), needs_(stretch_.needs()), extent_bytes_(extent_bytes) {
  base_ = needs_.whole_begin;
  end_ = needs_.whole_end;
  if (!needs_.partial.empty()) {
    base_ = std::min(base_, needs_.partial.front().run);
    end_ = std::max(end_, needs_.partial.back().run + 1);
  }
  looked_ahead_ = base_;
}

RunEntry& RunWindow::entry(std::uint64_t number) {
  while (number - base_ >= window_.size()) {
    const std::uint64_t added = base_ + window_.size();
    RunEntry& entry = window_.emplace_back();
    entry.run = stretch_.run(added);
    const auto partial = std::lower_bound(needs_.partial.begin(), needs_.partial.end(), added,
                                          [](const PartialRun& part, std::uint64_t run) { return part.run < run; });
    if (partial != needs_.partial.end() && partial->run == added) {
      entry.partial = &*partial;
      entry.unplanned = partial->needed(0, entry.run.count);
    } else if (added >= needs_.whole_begin && added < needs_.whole_end) {
      entry.unplanned = entry.run.count;
    }
  }
  return window_[number - base_];
}

void RunWindow::look_ahead(std::uint64_t until, ShardTable& shards) {
  until = std::min(until, end_);
  for (looked_ahead_ = std::max(looked_ahead_, base_); looked_ahead_ < until && !shards.crowded(); ++looked_ahead_) {
    const RunEntry& run = entry(looked_ahead_);
    if (run.unplanned != 0) shards.want(run.run.shard);
  }
}

bool RunWindow::resolve(const Pick& pick, ShardTable& shards) {
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

void RunWindow::resolve_entry(RunEntry& entry, std::shared_ptr<const ShardFile> file) {
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
    const std::uint64_t from = std::max(run.first_record, file->first_record(extent.first_block)) - run.first_record;
    const std::uint64_t to = std::min(end, file->first_record(extent.first_block + extent.blocks)) - run.first_record;
    extent.remaining = entry.partial == nullptr ? to - from : entry.partial->needed(from, to);
  }
  entry.file = std::move(file);
}

PlannedRow RunWindow::plan_row(const Pick& pick) {
  PlannedRow row;
  RunEntry& entry = this->entry(pick.run);
  if (--entry.unplanned == 0) used_up_.push_back(pick.run);
  row.id = entry.run.first_id + pick.record;
  row.status = stretch_.status();
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

bool RunWindow::forget_used_up() {
  // Old records that wait in the pool keep entries behind them in the window, but not their files.
  for (const std::uint64_t run : used_up_) {
    RunEntry& entry = window_[run - base_];
    entry.file.reset();
    entry.extents = {};
    entry.extent_of_block = {};
  }
  used_up_.clear();
  while (!window_.empty() && window_.front().unplanned == 0) {
    window_.pop_front();
    ++base_;
  }
  return window_.empty() && base_ >= end_;
}

void RunWindow::for_each_extent(const std::function<void(Extent&)>& visit) {
  for (RunEntry& entry : window_) {
    for (const std::shared_ptr<Extent>& extent : entry.extents) visit(*extent);
  }
}

}  // namespace dovetail::detail
