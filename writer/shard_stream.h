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

/// Writes shards of a dataset, one after the other. If the run length is given, each shard depends
/// on its own records alone.
///
/// Threads: one thread at a time may call it. It runs threads that encode.
/// Errors:  any is final. Destroy the stream then, which removes unfinished files.
/// Cost:    as `EncodePipeline`.
class ShardStream {
 public:
  static Result<std::unique_ptr<ShardStream>> start(std::shared_ptr<const OutputFolder> folder,
                                                    EncodePipeline::Settings settings);

  /// Sets the number of the next shard. Without this call, shards are numbered from 0.
  Result<void> begin(std::uint32_t shard) { return pipeline_->begin_shard(shard); }
  Result<void> append(ByteView record) { return cutter_.append(record); }
  Result<void> end();
  /// Waits until `on_shard` has received every shard that has ended. Last call.
  Result<void> finish();

 private:
  ShardStream(std::unique_ptr<EncodePipeline> pipeline, const WriterOptions& shard);

  std::unique_ptr<EncodePipeline> pipeline_;
  BlockCutter cutter_;
};

}  // namespace dovetail::detail
