// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/run_window.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "reader/dataset/stored_block.h"
#include "reader/delivery/load.h"

namespace dovetail::detail {

void RunEntry::turn_to(std::uint64_t record) noexcept {
  const std::uint64_t in_shard = run.first_record + record;
  const auto after =
      std::upper_bound(blocks.places.begin(), blocks.places.end(), in_shard,
                       [](std::uint64_t wanted, const BlockPlace& place) { return wanted < place.first_record; });
  const BlockPlace& place = *std::prev(after);
  if (extent != nullptr) {
    extent->unplanned = extent_unplanned;
    extent->last_row = last_row;
  }
  extent = &blocks.extents[place.extent];
  extent_unplanned = extent->unplanned;
  last_row = extent->last_row;
  block_first = place.first_record - run.first_record;
  block_records = file->blocks()[extent->first_block + place.block].records;
  Load* const load = extent->load.get();
  block = load == nullptr ? nullptr : &load->blocks[place.block];
  destinations = load == nullptr || load->sealed || load->destinations.empty()
                     ? nullptr
                     : load->destinations.data() + (place.first_record - file->first_record(extent->first_block));
}

void RunEntry::list(const std::shared_ptr<const ShardFile>& in, std::vector<Coming>& coming) {
  if (std::exchange(listed, true)) return;
  const std::uint64_t begin = in->blocks()[in->block_of(run.first_record)].offset;
  const std::size_t last = in->block_of(run.first_record + run.count - 1);
  const std::uint64_t end = in->blocks()[last].offset + stored_bytes(*in, last);
  coming.push_back({.file = in, .offset = begin, .bytes = end - begin});
}

RunWindow::RunWindow(Stretch stretch, const ExtentRules& rules)
    : stretch_(std::move(stretch)),
      needs_(stretch_.needs()),
      rules_(rules),
      first_run_(stretch_.first_run()),
      end_run_(stretch_.end_run()),
      ring_(128) {
  base_ = needs_.whole_begin;
  end_ = needs_.whole_end;
  if (!needs_.partial.empty()) {
    base_ = std::min(base_, needs_.partial.front().run);
    end_ = std::max(end_, needs_.partial.back().run + 1);
  }
  looked_ahead_ = base_;
}

std::unique_ptr<RunEntry> RunWindow::make_entry(std::uint64_t number) const {
  auto entry = std::make_unique<RunEntry>();
  entry->run = stretch_.run(number);
  entry->first_id = entry->run.first_id;
  entry->status = stretch_.status();
  const auto partial = std::lower_bound(needs_.partial.begin(), needs_.partial.end(), number,
                                        [](const PartialRun& part, std::uint64_t run) { return part.run < run; });
  if (partial != needs_.partial.end() && partial->run == number) {
    entry->partial = &*partial;
    entry->unplanned = partial->needed(0, entry->run.count);
  } else if (number >= needs_.whole_begin && number < needs_.whole_end) {
    entry->unplanned = entry->run.count;
  }
  return entry;
}

void RunWindow::extend_to(std::uint64_t number) {
  for (; number - base_ >= size_; ++size_) {
    if (size_ == ring_.size()) {
      std::vector<std::unique_ptr<RunEntry>> larger(2 * ring_.size());
      for (std::uint64_t run = base_; run < base_ + size_; ++run) {
        larger[run & (larger.size() - 1)] = std::move(ring_[run & (ring_.size() - 1)]);
      }
      ring_.swap(larger);
    }
    const std::uint64_t added = base_ + size_;
    ring_[added & (ring_.size() - 1)] = make_entry(added);
  }
}

void RunWindow::look_ahead(std::uint64_t until, ShardTable& shards, std::vector<Coming>* coming) {
  until = std::min(until, end_);
  for (looked_ahead_ = std::max(looked_ahead_, base_); looked_ahead_ < until && !shards.crowded(); ++looked_ahead_) {
    // A run that was looked up before may have been given up already.
    if (looked_ahead_ - base_ < size_ && ring_[looked_ahead_ & (ring_.size() - 1)] == nullptr) continue;
    RunEntry& run = entry(looked_ahead_);
    if (run.unplanned == 0) continue;
    shards.want(run.run.shard);
    if (coming == nullptr) continue;
    // A run keeps its file only once it is planned: those ahead would hold more shards open than may be.
    if (const std::shared_ptr<const ShardFile> open = shards.peek(run.run.shard)) run.list(open, *coming);
  }
}

bool RunWindow::resolve(RunEntry& entry, ShardTable& shards) {
  std::shared_ptr<const ShardFile> file = shards.find(entry.run.shard);
  if (file == nullptr && !shards.failed(entry.run.shard)) {
    shards.want(entry.run.shard);
    return false;
  }
  entry.resolved = true;
  if (file == nullptr) return true;
  const Run& run = entry.run;
  const std::uint64_t end = run.first_record + run.count;
  entry.blocks = make_extents(*file, run.shard, run.first_record, end, rules_);
  for (Extent& extent : entry.blocks.extents) {
    extent.user = &entry;
    const std::uint64_t from = std::max(run.first_record, file->first_record(extent.first_block)) - run.first_record;
    const std::uint64_t to = std::min(end, file->first_record(extent.first_block + extent.blocks)) - run.first_record;
    extent.first_id = run.first_id - run.first_record + file->first_record(extent.first_block);
    extent.picks = entry.partial == nullptr ? to - from : entry.partial->needed(from, to);
    extent.unplanned = extent.picks;
  }
  const ShardInfo& info = file->info();
  if (info.min_record_bytes == info.max_record_bytes) entry.record_bytes = info.max_record_bytes;
  entry.file = std::move(file);
  return true;
}

std::unique_ptr<RunEntry> RunWindow::take(std::uint64_t number) {
  return std::move(ring_[number & (ring_.size() - 1)]);
}

void RunWindow::take_all(std::vector<std::unique_ptr<RunEntry>>& out) {
  for (std::unique_ptr<RunEntry>& entry : ring_) {
    if (entry != nullptr) out.push_back(std::move(entry));
  }
}

bool RunWindow::ended() {
  while (size_ > 0) {
    std::unique_ptr<RunEntry>& front = ring_[base_ & (ring_.size() - 1)];
    if (front != nullptr && front->unplanned != 0) break;
    front.reset();
    ++base_;
    --size_;
  }
  return size_ == 0 && base_ >= end_;
}

}  // namespace dovetail::detail
