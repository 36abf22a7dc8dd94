// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/shard_table.h"

#include <exception>
#include <iterator>
#include <new>
#include <utility>

#include "format/guard_memory.h"
#include "format/try.h"

namespace dovetail::detail {

namespace {

/// Opens a shard. The shard counts as live until its last user releases it.
Storage::Answer open_shared(const Dataset& dataset, std::uint32_t shard,
                            const std::shared_ptr<ShardTable::Users>& users) try {
  DOVETAIL_ASSIGN(ShardFile file, open_shard(dataset, shard));
  auto owned = std::make_unique<ShardFile>(std::move(file));
  ++users->live;
  return std::shared_ptr<const ShardFile>(owned.release(), [users](const ShardFile* closed) {
    delete closed;
    --users->live;
    ++users->changes;
  });
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
    if (entry.open || !entry.let_go.expired() || entry.opening || entry.failed) return;
    if (live() >= 2 * max_open_ || (opening_ > 0 && live() >= max_open_)) return;
    entry.opening = true;
    ++opening_;
  }
  storage_.call(
      dataset_.shard_path(shard),
      [dataset = dataset_, shard, users = users_] { return open_shared(dataset, shard, users); },
      [this, shard](const Storage::Answer& opened) { finish(shard, opened); });
}

void ShardTable::finish(std::uint32_t shard, const Storage::Answer& opened) {
  std::list<Open> closing;  // closed outside of the lock
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
    ++users_->changes;
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
  ++ahead_;
  entries_[shard].open = recent_.begin();
  let_go_locked(closing);
  return {};
}

void ShardTable::let_go_locked(std::list<Open>& closing) noexcept {
  if (recent_.size() <= max_open_) return;
  Open& last = recent_.back();
  mark_found_locked(last);
  entries_[last.shard].open.reset();
  entries_[last.shard].let_go = last.file;
  closing.splice(closing.end(), recent_, std::prev(recent_.end()));
}

void ShardTable::mark_found_locked(Open& open) noexcept {
  if (!std::exchange(open.found, true)) --ahead_;
}

std::shared_ptr<const ShardFile> ShardTable::find(std::uint32_t shard) {
  std::list<Open> closing;  // closed outside of the lock
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[shard];
  if (!entry.open) {
    std::shared_ptr<const ShardFile> used = entry.let_go.lock();
    if (used == nullptr) return nullptr;
    recent_.push_front({.shard = shard, .file = std::move(used), .found = true});
    entry.open = recent_.begin();
    let_go_locked(closing);
  }
  recent_.splice(recent_.begin(), recent_, *entry.open);
  mark_found_locked(recent_.front());
  return recent_.front().file;
}

std::shared_ptr<const ShardFile> ShardTable::peek(std::uint32_t shard) const {
  const std::lock_guard lock(mutex_);
  const Entry& entry = entries_[shard];
  return entry.open ? (*entry.open)->file : entry.let_go.lock();
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
