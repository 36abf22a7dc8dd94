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

/// Writes some of the shards of a dataset, one after the other, each for itself.
///
/// Threads: one thread at a time calls it; it runs threads that encode.
/// Errors:  any is final: destroy the stream, which removes what is not finished.
/// Cost:    as `EncodePipeline`.
class ShardStream {
 public:
  /// Gets each shard once it is synced; it is not published.
  using OnShard = std::function<Result<void>(FinishedShard shard)>;

  struct Settings {
    WriterOptions shard = {};  ///< Needs `dataset_id` and `run_records`.
    unsigned threads = 1;      ///< That encode.
    std::uint64_t queued_bytes = std::uint64_t{256} << 20;
  };

  static Result<std::unique_ptr<ShardStream>> start(std::shared_ptr<const OutputFolder> folder,
                                                    const Settings& settings, OnShard on_shard);

  Result<void> begin(std::uint32_t shard) { return pipeline_->begin_shard(shard); }
  Result<void> append(ByteView record) { return cutter_.append(record); }
  Result<void> end();
  /// Waits until every shard that has ended was given out. Last call.
  Result<void> finish();

 private:
  ShardStream(std::unique_ptr<EncodePipeline> pipeline, const BlockCutter::Limits& limits);

  std::unique_ptr<EncodePipeline> pipeline_;
  BlockCutter cutter_;
};

}  // namespace dovetail::detail
