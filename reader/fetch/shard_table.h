// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <dovetail/dataset.h>

#include "reader/dataset/shard_file.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// The open shards of a reader. Each shard is opened on first use and checked against the manifest.
///
/// Keeps at most `max_open` shards, and drops the shard that was found or opened longest ago. A
/// dropped shard closes when its last user releases it. Until then it can be found again, so a
/// shard is never open twice.
/// Threads: all functions may be called from any thread. Opening itself runs on the storage's
///          threads.
class ShardTable {
 public:
  /// Keeps up to `max_open` shards. As many again may stay open for their users. `on_change` is
  /// called, with no lock held, after a shard was opened or failed to open. It must not throw.
  ShardTable(Dataset dataset, Storage& storage, std::uint32_t max_open, std::function<void()> on_change);

  /// Starts to open a shard, unless it is open, is being opened, or has failed and was not
  /// forgotten. Does nothing if too many shards are open or being opened; call it again after the
  /// next change then.
  void want(std::uint32_t shard);

  /// The shard, or null if it is not open.
  std::shared_ptr<const ShardFile> find(std::uint32_t shard);
  /// Why the shard could not be opened, if it could not and was not forgotten.
  std::optional<Error> failure(std::uint32_t shard) const;
  /// Allows all failed shards to be tried again.
  void forget_failures();

  std::uint64_t records(std::uint32_t shard) const noexcept { return dataset_.shards()[shard].records; }
  /// Shards that are open or being opened, including dropped shards with users.
  std::uint32_t live() const noexcept { return users_->live + opening_; }
  /// Shards opened so far, including those opened again.
  std::uint64_t opened() const noexcept { return opened_; }
  /// Grows whenever a shard was opened, failed to open, or was closed. A caller that got no shard
  /// may try again then.
  std::uint64_t changes() const noexcept { return users_->changes; }

  /// State that outlives the table while its shards are in use.
  struct Users {
    std::atomic<std::uint32_t> live = 0;
    std::atomic<std::uint64_t> changes = 0;
  };

 private:
  struct Entry {
    std::shared_ptr<const ShardFile> file;  ///< Set while the shard is kept.
    std::weak_ptr<const ShardFile> let_go;
    std::uint64_t used = 0;  ///< Stamp of the last time that the shard was opened or found.
    std::optional<Error> failure;
    bool opening = false;
  };
  void finish(std::uint32_t shard, const Storage::Answer& opened) noexcept;
  /// Keeps a shard. If there are too many, returns one that is dropped.
  std::shared_ptr<const ShardFile> keep_locked(std::uint32_t shard, std::shared_ptr<const ShardFile> file) noexcept;

  const Dataset dataset_;
  Storage& storage_;
  const std::uint32_t max_open_;
  const std::function<void()> on_change_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> kept_;  // never grows beyond what is reserved
  std::uint64_t uses_ = 0;           // the last stamp
  std::atomic<std::uint32_t> opening_ = 0;
  std::atomic<std::uint64_t> opened_ = 0;
  // `changes` grows after the change is visible.
  const std::shared_ptr<Users> users_ = std::make_shared<Users>();
};

}  // namespace dovetail::detail
