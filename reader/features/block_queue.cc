// SPDX-License-Identifier: Apache-2.0
#include "reader/features/block_queue.h"

#include <algorithm>
#include <utility>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {
namespace {

// About a MiB: seldom enough for a lock, and little enough for the last ones to end at the same time.
constexpr std::size_t kBlocksAtOnce = 16;

}  // namespace

BlockQueue::BlockQueue(const Dataset& dataset, std::uint64_t max_records) : dataset_(dataset) {
  for (const ShardInfo& shard : dataset.shards()) all_blocks_ += shard.blocks;
  read_blocks_ = all_blocks_;
  if (max_records == 0 || max_records >= dataset.records()) return;
  const std::uint64_t blocks = multiply_divide(all_blocks_, max_records, dataset.records());
  read_blocks_ = std::clamp<std::uint64_t>(blocks, 1, all_blocks_);
}

bool BlockQueue::chosen(std::uint64_t number) const noexcept {
  if (read_blocks_ == all_blocks_) return true;
  // So many steps of read / all, from one half, cross a whole number: those in the middle of each distance.
  const std::uint64_t place = multiply_modulo(number, read_blocks_, all_blocks_) + all_blocks_ / 2;
  return place % all_blocks_ >= all_blocks_ - read_blocks_;
}

std::optional<BlockQueue::Blocks> BlockQueue::take_open() {
  if (open_.empty()) return std::nullopt;
  Blocks& front = open_.front();
  Blocks taken = front;
  taken.end = std::min(front.end, front.begin + kBlocksAtOnce);
  front.begin = taken.end;
  if (front.begin == front.end) open_.pop_front();
  return taken;
}

Result<std::optional<BlockQueue::Blocks>> BlockQueue::take() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (stopped_) return std::optional<Blocks>();
    if (auto taken = take_open()) return taken;
    if (next_shard_ == dataset_.shards().size()) {
      if (opening_ == 0) return std::optional<Blocks>();
      opened_.wait(lock);  // a shard that another thread opens may have blocks for this one
      continue;
    }
    const std::uint32_t shard = next_shard_++;
    const ShardInfo& info = dataset_.shards()[shard];
    Blocks blocks{nullptr, next_id_, next_number_, 0, 0};
    next_id_ += info.records;
    next_number_ += info.blocks;
    ++opening_;
    lock.unlock();
    auto file = open_shard(dataset_, shard);
    lock.lock();
    --opening_;
    opened_.notify_all();
    if (!file && file.error().kind() != ErrorKind::damaged) return file.error();
    if (!file) {
      count_damage(blocks.first_number, std::max<std::uint64_t>(info.blocks, 1), info.records, file.error());
    } else if (!file->blocks().empty()) {
      blocks.end = file->blocks().size();
      blocks.file = std::make_shared<const ShardFile>(std::move(*file));
      open_.push_back(std::move(blocks));
    }
  }
}

void BlockQueue::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  opened_.notify_all();
}

void BlockQueue::add_damage(std::uint64_t number, std::uint64_t blocks, std::uint64_t records, const Error& error) {
  const std::lock_guard lock(mutex_);
  count_damage(number, blocks, records, error);
}

void BlockQueue::count_damage(std::uint64_t number, std::uint64_t blocks, std::uint64_t records, const Error& error) {
  damage_.blocks += blocks;
  damage_.records += records;
  if (number >= damage_.first_number) return;
  damage_.first_number = number;
  damage_.first = error;
}

BlockQueue::Damage BlockQueue::damage() const {
  const std::lock_guard lock(mutex_);
  return damage_;
}

}  // namespace dovetail::detail
