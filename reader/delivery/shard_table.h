// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include <dovetail/dataset.h>

#include "reader/dataset/shard_file.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// The shards that a reader has open, each opened on first use and checked against the manifest.
///
/// At most `max_open` are kept; beyond that the one unused for longest is let go, and closes when its last run is done.
/// Threads: none; belongs to the reader's strand. Opening itself runs on the storage's threads.
class ShardTable {
 public:
  /// `on_change` is called on `strand` after a shard has opened or failed to.
  ShardTable(Dataset dataset, Storage& storage, boost::asio::any_io_executor strand, std::uint32_t max_open,
             std::function<void()> on_change);

  /// Begins to open a shard, unless it is open, being opened, or failed.
  void want(std::uint32_t shard);

  /// The shard, null where it is not open (yet).
  std::shared_ptr<const ShardFile> find(std::uint32_t shard);
  /// Why a shard could not be opened.
  const std::optional<Error>& failure(std::uint32_t shard) const { return entries_[shard].failure; }

  /// Shards that are open now, or about to be, whoever uses them.
  std::uint32_t live() const noexcept { return *live_; }
  /// Whether opening more than is needed now would be too much.
  bool crowded() const noexcept { return live() >= max_open_; }
  /// Shards opened so far, those opened again included.
  std::uint64_t opened() const noexcept { return opened_; }

 private:
  struct Entry {
    std::shared_ptr<const ShardFile> file;
    std::optional<Error> failure;
    std::list<std::uint32_t>::iterator used_at{};
    bool opening = false;
  };
  void finish(std::uint32_t shard, Result<std::shared_ptr<const ShardFile>> opened);

  Dataset dataset_;
  Storage& storage_;
  boost::asio::any_io_executor strand_;
  std::uint32_t max_open_;
  std::function<void()> on_change_;
  std::vector<Entry> entries_;
  std::list<std::uint32_t> recent_;  // most recently used first
  std::uint64_t opened_ = 0;
  std::shared_ptr<std::atomic<std::uint32_t>> live_ = std::make_shared<std::atomic<std::uint32_t>>(0);
};

}  // namespace dovetail::detail
