// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/shard_table.h"

#include <algorithm>
#include <utility>

#include "format/try.h"

namespace dovetail::detail {

namespace {

/// Opens a shard. The shard counts as live until its last user releases it.
Storage::Answer open_shared(const Dataset& dataset, std::uint32_t shard,
                            const std::shared_ptr<ShardTable::Users>& users) {
  DOVETAIL_ASSIGN(ShardFile file, open_shard(dataset, shard));
  auto owned = std::make_unique<ShardFile>(std::move(file));
  ++users->live;
  return std::shared_ptr<const ShardFile>(owned.release(), [users](const ShardFile* closed) {
    delete closed;
    --users->live;
    ++users->changes;
  });
}

}  // namespace

ShardTable::ShardTable(Dataset dataset, Storage& storage, std::uint32_t max_open, std::function<void()> on_change)
    : dataset_(std::move(dataset)),
      storage_(storage),
      max_open_(max_open),
      on_change_(std::move(on_change)),
      entries_(dataset_.shards().size()) {
  kept_.reserve(std::min<std::size_t>(entries_.size(), max_open_) + 1);
}

void ShardTable::want(std::uint32_t shard) {
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[shard];
    if (entry.file != nullptr || !entry.let_go.expired() || entry.opening || entry.failure) return;
    if (live() >= 2 * max_open_ || (opening_ > 0 && live() >= max_open_)) return;
    entry.opening = true;
    ++opening_;
  }
  storage_.call(
      dataset_.shard_path(shard),
      [dataset = dataset_, shard, users = users_] { return open_shared(dataset, shard, users); },
      [this, shard](const Storage::Answer& opened) { finish(shard, opened); });
}

void ShardTable::finish(std::uint32_t shard, const Storage::Answer& opened) noexcept {
  std::shared_ptr<const ShardFile> closing;  // closed outside of the lock
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[shard];
    entry.opening = false;
    if (opened.has_value()) {
      closing = keep_locked(shard, std::static_pointer_cast<const ShardFile>(*opened));
      ++opened_;
    } else {
      entry.failure = opened.error();
    }
    --opening_;
    ++users_->changes;
  }
  closing.reset();
  on_change_();
}

std::shared_ptr<const ShardFile> ShardTable::keep_locked(std::uint32_t shard,
                                                         std::shared_ptr<const ShardFile> file) noexcept {
  Entry& entry = entries_[shard];
  entry.file = std::move(file);
  entry.used = ++uses_;
  kept_.push_back(shard);
  if (kept_.size() <= max_open_) return nullptr;
  const auto oldest = std::min_element(kept_.begin(), kept_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return entries_[a].used < entries_[b].used;
  });
  Entry& dropped = entries_[*oldest];
  *oldest = kept_.back();
  kept_.pop_back();
  dropped.let_go = dropped.file;
  return std::move(dropped.file);
}

std::shared_ptr<const ShardFile> ShardTable::find(std::uint32_t shard) {
  std::shared_ptr<const ShardFile> closing;  // closed outside of the lock
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[shard];
  if (entry.file == nullptr) {
    std::shared_ptr<const ShardFile> used = entry.let_go.lock();
    if (used == nullptr) return nullptr;
    closing = keep_locked(shard, std::move(used));
  }
  entry.used = ++uses_;
  return entry.file;
}

std::optional<Error> ShardTable::failure(std::uint32_t shard) const {
  const std::lock_guard lock(mutex_);
  return entries_[shard].failure;
}

void ShardTable::forget_failures() {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) entry.failure.reset();
}

}  // namespace dovetail::detail
