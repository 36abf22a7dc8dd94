// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/record_writer.h>
#include <dovetail/shard_info.h>

#include "format/block_encoder.h"
#include "format/messages.h"
#include "writer/block_cutter.h"
#include "writer/ordered_pool.h"
#include "writer/shard_output.h"

namespace dovetail::detail {

/// Turns a sequence of records and shard ends into shard files of a dataset. Encodes on several
/// threads, and writes in order. If the run length is given, each shard depends on its own records
/// alone.
///
/// The caller's thread writes when too many blocks are in flight. The pool's threads encode and
/// call `fdatasync`, so the end of a shard does not delay the next shard.
///
/// Threads: one thread at a time may call it.
/// Errors:  the first is final, and every later call returns it again. `on_shard` still receives
///          the shards that ended before the error; all other files are removed.
/// Cost:    at most `window()` blocks and, except for a single larger block,
///          `Settings::queued_bytes` of records.
class EncodePipeline {
 public:
  struct Settings {
    WriterOptions shard = {};  ///< Needs `dataset_id`.
    unsigned threads = 1;      ///< Number of encoding threads; at most `kMaxThreads` are started.
    std::uint64_t queued_bytes = std::uint64_t{256} << 20;
    /// Receives each shard as soon as it is synced, in order, on the caller's thread. It is not
    /// published.
    std::function<Result<void>(FinishedShard shard)> on_shard = {};
  };

  /// Errors: the system's, if no thread can be started.
  static Result<std::unique_ptr<EncodePipeline>> start(std::shared_ptr<const OutputFolder> folder, Settings settings);

  /// Sets the number of the next shard. Without this call, shards are numbered from 0. Needs: no
  /// shard is open.
  Result<void> begin_shard(std::uint32_t number) { return submit(ShardBegin{number}); }
  Result<void> append(ByteView record) { return cutter_.append(record); }
  Result<void> end_shard();
  /// Waits until `on_shard` has received every shard that has ended. Last call.
  Result<void> finish();

  // One level below, for blocks that are cut already.
  /// Takes the records of a block, and gives the memory of an earlier block back for the next one.
  Result<void> add(format::RawBlock& block);
  Result<void> end_shard(const ShardCut& cut) { return submit(ShardEnd{cut}); }

  std::size_t window() const noexcept { return window_; }
  /// Number of blocks whose memory exists, in flight or spare.
  std::size_t blocks_held() const noexcept { return blocks_held_; }

 private:
  struct BlockJob {
    format::RawBlock raw;
    format::EncodedBlock encoded;
  };
  struct ShardBegin {
    std::uint32_t number;
  };
  struct ShardEnd {
    ShardCut cut;
  };
  struct SyncJob {
    FinishedShard shard;
  };
  /// A job has several small blocks, because storing one takes less time than waking a thread.
  using Blocks = std::vector<std::unique_ptr<BlockJob>>;
  using Job = std::variant<Blocks, ShardBegin, ShardEnd, SyncJob>;

  EncodePipeline(std::shared_ptr<const OutputFolder> folder, Settings settings);
  static Result<void> work(Job& job, const WriterOptions& shard);
  Result<void> submit(Job job);
  void submit_blocks();
  Result<void> commit_oldest();
  Result<void> commit(Blocks blocks);
  Result<void> commit(const ShardBegin& begin);
  Result<void> commit(const ShardEnd& end);
  Result<void> commit(SyncJob sync);
  Result<void> open_shard();
  std::unique_ptr<BlockJob> take_spare();

  std::shared_ptr<const OutputFolder> folder_;
  Settings settings_;
  BlockCutter cutter_;
  format::Metadata metadata_;
  std::size_t window_;
  std::size_t blocks_held_ = 0;
  std::size_t queued_blocks_ = 0;  // in flight, or in the next job
  std::uint64_t queued_bytes_ = 0;
  Blocks next_job_;
  std::vector<std::unique_ptr<BlockJob>> spare_;
  std::optional<ShardOutput> shard_;
  std::uint32_t next_shard_ = 0;
  std::optional<Error> failure_;
  std::unique_ptr<OrderedPool<Job>> pool_;  // last: its threads must end before the members that they use
};

}  // namespace dovetail::detail
