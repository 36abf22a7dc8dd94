// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/shard_table.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <new>
#include <utility>

#include "format/guard_memory.h"

namespace dovetail::detail {

namespace {

/// Opens a shard that counts as live until its last user lets it go.
Storage::Answer open_shared(const Dataset& dataset, std::uint32_t shard,
                            const std::shared_ptr<std::atomic<std::uint32_t>>& live) try {
  Result<ShardFile> file = open_shard(dataset, shard);
  if (!file.has_value()) return file.error();
  ++*live;
  const std::shared_ptr<void> counted(nullptr, [live](void*) { --*live; });
  auto owned = std::make_unique<ShardFile>(std::move(*file));
  return std::shared_ptr<const ShardFile>(owned.release(), [counted](const ShardFile* closed) { delete closed; });
} catch (const std::exception& failure) {
  const Error error = error_from(failure);
  try {
    return error.in_file(dataset.shard_path(shard));
  } catch (const std::bad_alloc&) {
    return error;
  }
}

}  // namespace

ShardTable::ShardTable(Dataset dataset, Storage& storage, std::uint32_t max_open, std::function<void()> on_change)
    : dataset_(std::move(dataset)),
      storage_(storage),
      max_open_(max_open),
      on_change_(std::move(on_change)),
      entries_(dataset_.shards().size()) {
  failed_.reserve(entries_.size());
}

void ShardTable::want(std::uint32_t shard) {
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[shard];
    if (entry.open || entry.opening || entry.failed) return;
    entry.opening = true;
  }
  ++opening_;
  storage_.call(
      dataset_.shard_path(shard),
      [dataset = dataset_, shard, live = live_] { return open_shared(dataset, shard, live); },
      [this, shard](const Storage::Answer& opened) { finish(shard, opened); });
}

void ShardTable::finish(std::uint32_t shard, const Storage::Answer& opened) {
  std::list<Open> closing;  // outside of the lock
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[shard];
    entry.opening = false;
    const Result<void> kept = keep_locked(shard, opened, closing);
    if (!kept.has_value()) {
      entry.failure = kept.error();
      entry.failed = true;
      failed_.push_back(shard);
    }
    --opening_;
    ++changes_;
  }
  closing.clear();
  on_change_();
}

Result<void> ShardTable::keep_locked(std::uint32_t shard, const Storage::Answer& opened,
                                     std::list<Open>& closing) noexcept {
  if (!opened.has_value()) return opened.error();
  try {
    recent_.push_front({.shard = shard, .file = std::static_pointer_cast<const ShardFile>(*opened)});
  } catch (const std::exception& failure) {
    return error_from(failure);
  }
  ++opened_;
  entries_[shard].open = recent_.begin();
  let_go_locked(closing);
  return {};
}

void ShardTable::let_go_locked(std::list<Open>& closing) noexcept {
  const std::uint32_t most = max_open_ - max_open_ / 4;
  std::uint32_t excess = *live_ - std::min<std::uint32_t>(*live_, most);
  for (auto place = recent_.end(); excess > 0 && place != std::next(recent_.begin());) {
    const auto last = std::prev(place);
    // One that nobody has cannot get a user now: `find` takes the lock.
    if (!last->found || last->file.use_count() > 1) {
      place = last;
      continue;
    }
    entries_[last->shard].open.reset();
    closing.splice(closing.end(), recent_, last);
    --excess;
  }
}

std::shared_ptr<const ShardFile> ShardTable::find(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  const Entry& entry = entries_[shard];
  if (!entry.open) return nullptr;
  recent_.splice(recent_.begin(), recent_, *entry.open);
  recent_.front().found = true;
  return recent_.front().file;
}

std::shared_ptr<const ShardFile> ShardTable::peek(std::uint32_t shard) const {
  const std::lock_guard lock(mutex_);
  const Entry& entry = entries_[shard];
  return entry.open ? (*entry.open)->file : nullptr;
}

bool ShardTable::failed(std::uint32_t shard) const {
  const std::lock_guard lock(mutex_);
  return entries_[shard].failed;
}

Error ShardTable::failure(std::uint32_t shard) const {
  const std::lock_guard lock(mutex_);
  return *entries_[shard].failure;
}

void ShardTable::forget_failures() {
  const std::lock_guard lock(mutex_);
  for (const std::uint32_t shard : failed_) entries_[shard].failed = false;
  failed_.clear();
}

}  // namespace dovetail::detail
