// SPDX-License-Identifier: Apache-2.0
#include "reader/features/block_queue.h"

#include <algorithm>
#include <utility>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {
namespace {

// Large enough that the lock is taken rarely, and small enough that all threads end at about the
// same time.
constexpr std::uint64_t kBytesAtOnce = std::uint64_t{1} << 20;

}  // namespace

BlockQueue::BlockQueue(const Dataset& dataset, std::uint64_t max_records) : dataset_(dataset) {
  for (const ShardInfo& shard : dataset.shards()) all_blocks_ += shard.blocks;
  read_blocks_ = all_blocks_;
  if (max_records == 0 || max_records >= dataset.records()) return;
  const std::uint64_t blocks = multiply_divide(all_blocks_, max_records, dataset.records());
  read_blocks_ = std::clamp<std::uint64_t>(blocks, 1, all_blocks_);
}

std::uint64_t BlockQueue::chosen_before(std::uint64_t number) const noexcept {
  // The choice is a number line with a step of read / all per block, from one half on. A block is
  // chosen if its step crosses a whole number. So the chosen blocks are spread evenly.
  return low_half((Uint128{number} * read_blocks_ + all_blocks_ / 2) / std::max<std::uint64_t>(all_blocks_, 1));
}

std::optional<BlockQueue::Blocks> BlockQueue::take_open() {
  if (open_.empty()) return std::nullopt;
  Blocks& front = open_.front();
  Blocks taken = front;
  for (std::uint64_t bytes = 0; front.begin < front.end && bytes < kBytesAtOnce; ++front.begin) {
    if (chosen(front.first_number + front.begin)) bytes += front.file->blocks()[front.begin].raw_bytes;
  }
  taken.end = front.begin;
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
      opened_.wait(lock);  // another thread opens a shard that may have blocks for this one
      continue;
    }
    const std::uint32_t shard = next_shard_++;
    const ShardInfo& info = dataset_.shards()[shard];
    Blocks blocks{nullptr, next_id_, next_number_, 0, 0};
    next_id_ += info.records;
    next_number_ += info.blocks;
    const std::uint64_t wanted = chosen_before(next_number_) - chosen_before(blocks.first_number);
    if (wanted == 0) continue;
    ++opening_;
    lock.unlock();
    auto file = open_shard(dataset_, shard);
    lock.lock();
    --opening_;
    opened_.notify_all();
    if (!file && file.error().kind() != ErrorKind::damaged) return file.error();
    if (!file) {
      count_damage(blocks.first_number, wanted, multiply_divide(info.records, wanted, info.blocks), file.error());
    } else {
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
