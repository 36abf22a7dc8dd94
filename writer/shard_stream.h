// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/record_writer.h>

#include "writer/block_cutter.h"
#include "writer/encode_pipeline.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

/// Writes some of the shards of a dataset, one after the other. Each shard is independent of the
/// others.
///
/// Threads: one thread at a time may call it. It runs threads that encode.
/// Errors:  any is final. Destroy the stream then, which removes unfinished files.
/// Cost:    as `EncodePipeline`.
class ShardStream {
 public:
  /// Receives each shard once it is synced, but not published.
  using OnShard = std::function<Result<void>(FinishedShard shard)>;

  struct Settings {
    WriterOptions shard = {};  ///< Needs `dataset_id` and `run_records`.
    unsigned threads = 1;      ///< Number of encoding threads.
    std::uint64_t queued_bytes = std::uint64_t{256} << 20;
  };

  static Result<std::unique_ptr<ShardStream>> start(std::shared_ptr<const OutputFolder> folder,
                                                    const Settings& settings, OnShard on_shard);

  Result<void> begin(std::uint32_t shard) { return pipeline_->begin_shard(shard); }
  Result<void> append(ByteView record) { return cutter_.append(record); }
  Result<void> end();
  /// Waits until `on_shard` has received every shard that has ended. Last call.
  Result<void> finish();

 private:
  ShardStream(std::unique_ptr<EncodePipeline> pipeline, const BlockCutter::Limits& limits);

  std::unique_ptr<EncodePipeline> pipeline_;
  BlockCutter cutter_;
};

}  // namespace dovetail::detail
