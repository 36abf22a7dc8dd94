// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <dovetail/dataset.h>

#include "reader/dataset/shard_file.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// The shards that a reader has open, each opened on first use and checked against the manifest; many at a time.
///
/// At most `max_open` are kept; beyond that the one found or opened longest ago is let go, and closes when its last run is
/// done. Until then it is found again: a shard is open once, however many use it.
/// Threads: all functions may be called from any thread. Opening itself runs on the storage's threads.
class ShardTable {
 public:
  /// Keeps up to `max_open` shards; as many again may be open for those that use them. `on_change` is called, with no lock
  /// held, after a shard has opened or failed to.
  ShardTable(Dataset dataset, Storage& storage, std::uint32_t max_open, std::function<void()> on_change);

  /// Begins to open a shard, unless it is open, being opened, or failed and not forgotten; or there are enough already, some
  /// of them on their way: then it is to be wanted again after the next change.
  void want(std::uint32_t shard);

  /// The shard, null where it is not open (yet).
  std::shared_ptr<const ShardFile> find(std::uint32_t shard);
  /// The same for who only looks ahead, and finds it later.
  std::shared_ptr<const ShardFile> peek(std::uint32_t shard) const;
  bool failed(std::uint32_t shard) const;
  /// Why a shard could not be opened the last time that it failed. Needs: it has failed.
  Error failure(std::uint32_t shard) const;
  /// Lets all shards that failed be tried again.
  void forget_failures();

  std::uint64_t records(std::uint32_t shard) const noexcept { return dataset_.shards()[shard].records; }
  /// Shards that are open now, or about to be, whoever uses them.
  std::uint32_t live() const noexcept { return users_->live + opening_; }
  /// Whether some are about to be, so that who asks for one may have to wait.
  bool opening() const noexcept { return opening_ > 0; }
  /// Whether opening more than is needed now would be too much. Of those that are kept, half may be opened ahead: then they
  /// are found before they are let go, as runs are looked at in the order in which they are needed.
  bool crowded() const noexcept { return 2 * (ahead_ + opening_) >= max_open_ || 2 * live() >= 3 * max_open_; }
  /// Shards opened so far, those opened again included.
  std::uint64_t opened() const noexcept { return opened_; }
  /// Grows whenever a shard has opened, failed to, or been closed, so that a caller that found one missing may look again.
  std::uint64_t changes() const noexcept { return users_->changes; }

  /// What outlives the table, as long as somebody uses a shard of it.
  struct Users {
    std::atomic<std::uint32_t> live = 0;
    std::atomic<std::uint64_t> changes = 0;
  };

 private:
  struct Open {
    std::uint32_t shard = 0;
    std::shared_ptr<const ShardFile> file;
    bool found = false;
  };
  struct Entry {
    std::optional<std::list<Open>::iterator> open;
    std::weak_ptr<const ShardFile> let_go;
    std::optional<Error> failure;
    bool opening = false;
    bool failed = false;
  };
  void finish(std::uint32_t shard, const Storage::Answer& opened);
  /// Keeps a shard that was opened, in place of others if there are too many. Errors: those of opening; no memory.
  Result<void> keep_locked(std::uint32_t shard, const Storage::Answer& opened, std::list<Open>& closing) noexcept;
  void let_go_locked(std::list<Open>& closing) noexcept;
  void mark_found_locked(Open& open) noexcept;

  const Dataset dataset_;
  Storage& storage_;
  const std::uint32_t max_open_;
  const std::function<void()> on_change_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::list<Open> recent_;  // most recently found first
  std::vector<std::uint32_t> failed_;
  std::atomic<std::uint32_t> opening_ = 0;
  std::atomic<std::uint32_t> ahead_ = 0;  // of `recent_`, not found yet
  std::atomic<std::uint64_t> opened_ = 0;
  const std::shared_ptr<Users> users_ = std::make_shared<Users>();  // `changes` grows behind what may be found then
};

}  // namespace dovetail::detail
