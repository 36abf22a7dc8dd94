// SPDX-License-Identifier: Apache-2.0
#include "writer/shard_stream.h"

#include <algorithm>
#include <utility>

#include "format/try.h"
#include "writer/writer_options.h"

namespace dovetail::detail {

Result<std::unique_ptr<ShardStream>> ShardStream::start(std::shared_ptr<const OutputFolder> folder,
                                                        const Settings& settings, OnShard on_shard) {
  const WriterOptions& shard = settings.shard;
  auto pipeline =
      EncodePipeline::start(std::move(folder), {.dataset_id = shard.dataset_id.value_or(DatasetId{}),
                                                .metadata = make_metadata(shard),
                                                .codec = shard.codec,
                                                .codec_level = shard.codec_level,
                                                .threads = std::min(std::max(settings.threads, 1u), kMaxThreads),
                                                .queued_bytes = settings.queued_bytes,
                                                .on_shard = std::move(on_shard)});
  if (!pipeline) return pipeline.error();
  return std::unique_ptr<ShardStream>(new ShardStream(std::move(*pipeline), cutter_limits(shard)));
}

ShardStream::ShardStream(std::unique_ptr<EncodePipeline> pipeline, const BlockCutter::Limits& limits)
    : pipeline_(std::move(pipeline)),
      cutter_(limits, [this](format::RawBlock& block) { return pipeline_->add(block); }) {}

Result<void> ShardStream::end() {
  DOVETAIL_ASSIGN(auto cut, cutter_.end_shard());
  return pipeline_->end_shard(cut);
}

Result<void> ShardStream::finish() {
  auto rest = pipeline_->finish();
  if (!rest) return rest.error();
  return {};
}

}  // namespace dovetail::detail
