// SPDX-License-Identifier: Apache-2.0
#include "writer/encode_pipeline.h"

#include <algorithm>
#include <utility>

#include "format/guard_memory.h"
#include "format/try.h"
#include "writer/dataset_files.h"
#include "writer/writer_options.h"

namespace dovetail::detail {

namespace {

constexpr std::size_t kBlocksPerJob = 4;
// A block of this size justifies a thread of its own.
constexpr std::size_t kLargeBlockBytes = std::size_t{256} << 10;
// Enough jobs that a thread finds work while the caller writes or waits for its input.
constexpr std::size_t kJobsPerThread = 2;
// Frees memory that one huge record has enlarged, instead of keeping it for the next block.
constexpr std::size_t kKeptBlockBytes = std::size_t{8} << 20;

}  // namespace

EncodePipeline::EncodePipeline(std::shared_ptr<const OutputFolder> folder, Settings settings)
    : folder_(std::move(folder)),
      settings_(std::move(settings)),
      cutter_(settings_.shard, [this](format::RawBlock& block) { return add(block); }),
      metadata_(make_metadata(settings_.shard)),
      window_(kBlocksPerJob * kJobsPerThread * settings_.threads) {}

Result<std::unique_ptr<EncodePipeline>> EncodePipeline::start(std::shared_ptr<const OutputFolder> folder,
                                                              Settings settings) {
  settings.threads = std::clamp(settings.threads, 1u, kMaxThreads);
  std::unique_ptr<EncodePipeline> pipeline(new EncodePipeline(std::move(folder), std::move(settings)));
  const WriterOptions& shard = pipeline->settings_.shard;
  DOVETAIL_ASSIGN(pipeline->pool_, OrderedPool<Job>::start(pipeline->settings_.threads,
                                                           [&shard](Job& job) { return work(job, shard); }));
  return pipeline;
}

Result<void> EncodePipeline::work(Job& job, const WriterOptions& shard) {
  if (auto* blocks = std::get_if<Blocks>(&job)) {
    for (const auto& block : *blocks) format::encode_block(block->raw, shard.codec, block->encoded, shard.codec_level);
  } else if (auto* sync = std::get_if<SyncJob>(&job)) {
    return sync->shard.file.sync();
  }
  return {};
}

std::unique_ptr<EncodePipeline::BlockJob> EncodePipeline::take_spare() {
  if (spare_.empty()) {
    ++blocks_held_;
    return std::make_unique<BlockJob>();
  }
  std::unique_ptr<BlockJob> block = std::move(spare_.back());
  spare_.pop_back();
  return block;
}

Result<void> EncodePipeline::add(format::RawBlock& block) {
  if (failure_) return *failure_;
  const std::uint64_t bytes = block.bytes.size();
  while (queued_blocks_ != 0 && (queued_blocks_ >= window_ || queued_bytes_ + bytes > settings_.queued_bytes)) {
    if (pool_->in_flight() == 0) submit_blocks();
    DOVETAIL_TRY(commit_oldest());
  }
  next_job_.push_back(take_spare());
  std::swap(next_job_.back()->raw, block);
  block.clear();
  ++queued_blocks_;
  queued_bytes_ += bytes;
  if (next_job_.size() == kBlocksPerJob || bytes >= kLargeBlockBytes) submit_blocks();
  return {};
}

void EncodePipeline::submit_blocks() {
  if (!next_job_.empty()) pool_->submit(std::exchange(next_job_, {}));
}

Result<void> EncodePipeline::end_shard() {
  DOVETAIL_ASSIGN(auto cut, cutter_.end_shard());
  return end_shard(cut);
}

Result<void> EncodePipeline::submit(Job job) {
  if (failure_) return *failure_;
  submit_blocks();
  while (pool_->in_flight() >= window_) {
    DOVETAIL_TRY(commit_oldest());
  }
  pool_->submit(std::move(job));
  return {};
}

Result<void> EncodePipeline::finish() {
  submit_blocks();
  while (pool_->in_flight() != 0) (void)commit_oldest();
  if (failure_) return *failure_;
  return {};
}

// After a failure, no shard gets more blocks: it would be finished without the failed block. Shards
// that ended before the failure are complete and only wait for their sync.
Result<void> EncodePipeline::commit_oldest() {
  auto done = pool_->take();
  Result<void> outcome = std::move(done.outcome);
  if (outcome && (!failure_ || std::holds_alternative<SyncJob>(done.job))) {
    const auto commit_it = [this](auto&& job) { return commit(std::forward<decltype(job)>(job)); };
    outcome = guard_memory({}, [&] { return std::visit(commit_it, std::move(done.job)); });
  }
  if (!outcome && !failure_) {
    failure_ = outcome.error();
    shard_.reset();
  }
  if (failure_) return *failure_;
  return {};
}

Result<void> EncodePipeline::open_shard() {
  if (shard_) return {};
  DOVETAIL_ASSIGN(shard_, ShardOutput::create(folder_, shard_name(next_shard_), *settings_.shard.dataset_id,
                                              next_shard_, metadata_));
  ++next_shard_;
  return {};
}

Result<void> EncodePipeline::commit(Blocks blocks) {
  DOVETAIL_TRY(open_shard());
  for (std::unique_ptr<BlockJob>& block : blocks) {
    DOVETAIL_TRY(shard_->add(block->encoded));
    --queued_blocks_;
    queued_bytes_ -= block->raw.bytes.size();
    if (block->raw.bytes.capacity() > kKeptBlockBytes) {
      --blocks_held_;
    } else {
      spare_.push_back(std::move(block));
    }
  }
  return {};
}

Result<void> EncodePipeline::commit(const ShardBegin& begin) {
  next_shard_ = begin.number;
  return {};
}

Result<void> EncodePipeline::commit(const ShardEnd& end) {
  DOVETAIL_TRY(open_shard());
  auto finished = shard_->finish(end.cut);
  shard_.reset();
  if (!finished) return finished.error();
  pool_->submit(SyncJob{std::move(*finished)});
  return {};
}

Result<void> EncodePipeline::commit(SyncJob sync) {
  return settings_.on_shard(std::move(sync.shard));
}

}  // namespace dovetail::detail
