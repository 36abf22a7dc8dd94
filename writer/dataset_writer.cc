// SPDX-License-Identifier: Apache-2.0
#include <dovetail/dataset_writer.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "format/guard_memory.h"
#include "format/moved_from.h"
#include "format/process_mark.h"
#include "format/shard_encoder.h"
#include "format/try.h"
#include "writer/block_cutter.h"
#include "writer/dataset_files.h"
#include "writer/encode_pipeline.h"
#include "writer/writer_options.h"

namespace dovetail {

namespace {

// Found before the first record rather than with the first block.
Result<void> check_metadata(const WriterOptions& options) {
  std::vector<std::byte> scratch;
  return format::ShardEncoder({}, 0).begin(detail::make_metadata(options), scratch);
}

// First record of shard `shard` of `shards`.
std::uint64_t first_record(std::uint64_t shard, std::uint64_t shards, std::uint64_t records) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(records) * shard / shards);
}

}  // namespace

class DatasetWriter::Impl {
 public:
  /// `opened` is the folder as soon as there is one.
  static Result<std::unique_ptr<Impl>> create(const std::string& folder, DatasetWriterOptions options,
                                              std::shared_ptr<detail::OutputFolder>& opened);

  Impl(DatasetWriterOptions options, std::shared_ptr<detail::OutputFolder> folder,
       std::unique_ptr<detail::EncodePipeline> pipeline)
      : options_(std::move(options)),
        folder_(std::move(folder)),
        pipeline_(std::move(pipeline)),
        cutter_(detail::cutter_limits(options_.shard),
                [this](format::RawBlock& block) { return pipeline_->add(block); }) {}

  ~Impl() { abandon(); }

  Result<void> append(ByteView record) {
    if (!is_open()) return stop_reason();
    if (auto ok = detail::check_record_size(options_.shard, records_, record.size()); !ok) {
      return ok.error().in_file(folder_->path());
    }
    return guarded([&] { return append_in_order(record); });
  }

  Result<void> next_shard() {
    if (!is_open()) return stop_reason();
    if (options_.shards != 0) {
      return Error(Errc::invalid_option,
                   "next_shard() cannot be used with shards = " + std::to_string(options_.shards));
    }
    return guarded([&] { return end_shard(); });
  }

  Result<DatasetInfo> finish() {
    if (!is_open()) return stop_reason();
    DatasetInfo info;
    DOVETAIL_TRY(guarded([&] { return write_all(info); }));
    state_ = State::finished;
    shards_.clear();
    pipeline_.reset();
    return info;
  }

  void abandon() noexcept {
    if (state_ != State::open || process_.forked()) return;
    state_ = State::abandoned;
    remove_all();
  }

  const detail::ProcessMark& process() const noexcept { return process_; }
  std::uint64_t records() const noexcept { return records_; }
  std::uint64_t raw_bytes() const noexcept { return raw_bytes_; }

 private:
  enum class State { open, finished, abandoned, failed };

  /// Whether records can be added.
  bool is_open() const noexcept { return state_ == State::open && !process_.forked(); }

  Error stop_reason() const {
    if (process_.forked()) return process_.error();
    if (state_ == State::failed) return failure_;
    return Error(Errc::closed, state_ == State::finished ? "the dataset is finished" : "the writer was abandoned")
        .in_file(folder_->path());
  }

  // The one place where a failure becomes final.
  template <class Step>
  Result<void> guarded(Step&& step) {
    Result<void> done = detail::guard_memory(folder_->path(), step);
    if (done) return done;
    failure_ = done.error();
    state_ = State::failed;
    remove_all();
    return failure_ = failure_.in_file(folder_->path());
  }

  Result<void> append_in_order(ByteView record) {
    while (shard_is_complete()) {
      DOVETAIL_TRY(end_shard());
    }
    DOVETAIL_TRY(cutter_.append(record));
    ++records_;
    raw_bytes_ += record.size();
    shard_bytes_ += record.size();
    shard_open_ = true;
    return {};
  }

  // Asked before each record, so that no shard is begun for records that do not come.
  bool shard_is_complete() const {
    if (options_.shards != 0) {
      return ended_ + 1 < options_.shards &&
             records_ >= first_record(ended_ + 1, options_.shards, options_.expected_records);
    }
    return shard_open_ && options_.shard_bytes != 0 && shard_bytes_ >= options_.shard_bytes;
  }

  Result<void> end_shard() {
    if (ended_ == kMaxShards) {
      return Error(Errc::invalid_option, "shard_bytes = " + std::to_string(options_.shard_bytes) +
                                             ": makes more than " + std::to_string(kMaxShards) + " shards");
    }
    DOVETAIL_ASSIGN(auto cut, cutter_.end_shard());
    ++ended_;
    shard_bytes_ = 0;
    shard_open_ = false;
    return pipeline_->end_shard(cut);
  }

  Result<void> write_all(DatasetInfo& info) {
    while (options_.shards != 0 ? ended_ < options_.shards : shard_open_) {
      DOVETAIL_TRY(end_shard());
    }
    DOVETAIL_ASSIGN(auto shards, pipeline_->finish());
    shards_ = std::move(shards);
    for (const detail::FinishedShard& shard : shards_) info.shards.push_back(shard.info);
    DOVETAIL_ASSIGN(auto manifest,
                    detail::write_manifest(folder_, *options_.shard.dataset_id, options_.shard.codec, info.shards));
    info.manifest = manifest.path();
    info.id = *options_.shard.dataset_id;
    // Last: nothing that could fail may follow once the dataset is there.
    return detail::publish_dataset(*folder_, shards_, manifest, options_.shard.overwrite);
  }

  void remove_all() noexcept {
    pipeline_.reset();
    for (detail::FinishedShard& shard : shards_) shard.file.discard();
    folder_->remove_created();
  }

  const detail::ProcessMark process_;
  const DatasetWriterOptions options_;
  std::shared_ptr<detail::OutputFolder> folder_;
  std::unique_ptr<detail::EncodePipeline> pipeline_;
  detail::BlockCutter cutter_;
  State state_ = State::open;
  Error failure_;
  std::uint64_t records_ = 0;
  std::uint64_t raw_bytes_ = 0;
  std::uint64_t shard_bytes_ = 0;
  std::uint32_t ended_ = 0;
  bool shard_open_ = false;
  std::vector<detail::FinishedShard> shards_;
};

namespace {

Result<std::unique_ptr<detail::EncodePipeline>> start_pipeline(const std::shared_ptr<detail::OutputFolder>& folder,
                                                               const DatasetWriterOptions& options) {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const unsigned threads = options.encode_threads != 0 ? options.encode_threads : cores;
  return detail::EncodePipeline::start(folder, {.dataset_id = *options.shard.dataset_id,
                                                .metadata = detail::make_metadata(options.shard),
                                                .codec = options.shard.codec,
                                                .threads = std::min(threads, detail::kMaxEncodeThreads)});
}

}  // namespace

Result<std::unique_ptr<DatasetWriter::Impl>> DatasetWriter::Impl::create(
    const std::string& folder, DatasetWriterOptions options, std::shared_ptr<detail::OutputFolder>& opened) {
  DOVETAIL_TRY(detail::validate(options));
  DOVETAIL_TRY(check_metadata(options.shard));
  if (folder.empty()) return Error(Errc::invalid_option, "folder = \"\": must name a folder");
  DOVETAIL_ASSIGN(auto target, detail::OutputFolder::create(folder));
  opened = target;
  if (!options.shard.overwrite) {
    DOVETAIL_TRY(detail::check_vacant(*opened));
  }
  if (!options.shard.dataset_id) options.shard.dataset_id = DatasetId::random();
  DOVETAIL_ASSIGN(auto pipeline, start_pipeline(opened, options));
  return std::make_unique<Impl>(std::move(options), opened, std::move(pipeline));
}

Result<DatasetWriter> DatasetWriter::create(const std::string& folder, DatasetWriterOptions options) {
  std::shared_ptr<detail::OutputFolder> opened;
  Result<std::unique_ptr<Impl>> impl =
      detail::guard_memory(folder, [&] { return Impl::create(folder, std::move(options), opened); });
  if (impl) return DatasetWriter(std::move(*impl));
  if (opened) opened->remove_created();
  return impl.error();
}

DatasetWriter::DatasetWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DatasetWriter::DatasetWriter(DatasetWriter&&) noexcept = default;

DatasetWriter& DatasetWriter::operator=(DatasetWriter&& other) noexcept {
  if (this != &other) {
    let_go();
    impl_ = std::move(other.impl_);
  }
  return *this;
}

DatasetWriter::~DatasetWriter() {
  let_go();
}

void DatasetWriter::let_go() noexcept {
  if (impl_ && impl_->process().forked()) return detail::leave_alone(std::move(impl_));
  impl_.reset();
}

Result<void> DatasetWriter::append(ByteView record) {
  return impl_ ? impl_->append(record) : detail::moved_from();
}
Result<void> DatasetWriter::next_shard() {
  return impl_ ? impl_->next_shard() : detail::moved_from();
}
Result<DatasetInfo> DatasetWriter::finish() {
  return impl_ ? impl_->finish() : detail::moved_from();
}
void DatasetWriter::abandon() noexcept {
  if (impl_) impl_->abandon();
}
std::uint64_t DatasetWriter::records() const noexcept {
  return impl_ ? impl_->records() : 0;
}
std::uint64_t DatasetWriter::raw_bytes() const noexcept {
  return impl_ ? impl_->raw_bytes() : 0;
}

}  // namespace dovetail
