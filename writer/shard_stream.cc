// SPDX-License-Identifier: Apache-2.0
#include "writer/shard_stream.h"

#include <algorithm>
#include <utility>

#include "format/try.h"
#include "writer/writer_options.h"

namespace dovetail::detail {

Result<std::unique_ptr<ShardStream>> ShardStream::start(std::shared_ptr<const OutputFolder> folder,
                                                        EncodePipeline::Settings settings) {
  const WriterOptions shard = settings.shard;
  settings.threads = std::clamp(settings.threads, 1u, kMaxThreads);
  DOVETAIL_ASSIGN(auto pipeline, EncodePipeline::start(std::move(folder), std::move(settings)));
  return std::unique_ptr<ShardStream>(new ShardStream(std::move(pipeline), shard));
}

ShardStream::ShardStream(std::unique_ptr<EncodePipeline> pipeline, const WriterOptions& shard)
    : pipeline_(std::move(pipeline)),
      cutter_(shard, [this](format::RawBlock& block) { return pipeline_->add(block); }) {}

Result<void> ShardStream::end() {
  DOVETAIL_ASSIGN(auto cut, cutter_.end_shard());
  return pipeline_->end_shard(cut);
}

Result<void> ShardStream::finish() {
  return pipeline_->finish();
}

}  // namespace dovetail::detail
