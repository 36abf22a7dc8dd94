// SPDX-License-Identifier: Apache-2.0
#include <dovetail/dataset_writer.h>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "format/guard_memory.h"
#include "format/layout.h"
#include "format/moved_from.h"
#include "format/process_mark.h"
#include "format/shard_encoder.h"
#include "format/try.h"
#include "writer/dataset_files.h"
#include "writer/encode_pipeline.h"
#include "writer/staging.h"
#include "writer/writer_options.h"

namespace dovetail {

namespace {

// Reports bad metadata before the first record rather than with the first block.
Result<void> check_metadata(const WriterOptions& options) {
  std::vector<std::byte> scratch;
  return format::ShardEncoder({}, 0).begin(detail::make_metadata(options), scratch);
}

// Returns the first record of shard `shard` of `shards`.
std::uint64_t first_record(std::uint64_t shard, std::uint64_t shards, std::uint64_t records) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(records) * shard / shards);
}

}  // namespace

class DatasetWriter::Impl {
 public:
  Impl(DatasetWriterOptions options, detail::Staging staging)
      : options_(std::move(options)), staging_(std::move(staging)), target_(staging_->target()) {}

  ~Impl() { abandon(); }

  Result<void> start() {
    return guarded([&]() -> Result<void> {
      const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
      const unsigned threads = options_.encode_threads != 0 ? options_.encode_threads : cores;
      const auto on_shard = [this](detail::FinishedShard shard) { return keep(std::move(shard)); };
      DOVETAIL_ASSIGN(pipeline_,
                      detail::EncodePipeline::start(
                          staging_->folder(), {.shard = options_.shard, .threads = threads, .on_shard = on_shard}));
      return {};
    });
  }

  Result<void> append(ByteView record) {
    if (!is_open()) return stop_reason();
    if (auto ok = detail::check_record(options_.shard, records_, record); !ok) {
      return ok.error().in_file(target_);
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
    DOVETAIL_TRY(guarded([&] { return write_all(); }));
    state_ = State::finished;
    pipeline_.reset();
    staging_.reset();
    return std::move(info_);
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

  /// Returns whether records can be added.
  bool is_open() const noexcept { return state_ == State::open && !process_.forked(); }

  Error stop_reason() const {
    if (process_.forked()) return process_.error();
    if (state_ == State::failed) return failure_;
    return Error(Errc::closed, state_ == State::finished ? "the dataset is finished" : "the writer was abandoned")
        .in_file(target_);
  }

  // Every failure becomes final here.
  template <class Step>
  Result<void> guarded(Step&& step) {
    Result<void> done = detail::guard_memory(target_, step);
    if (done) return done;
    failure_ = done.error();
    state_ = State::failed;
    remove_all();
    return failure_ = failure_.in_file(target_);
  }

  Result<void> append_in_order(ByteView record) {
    while (shard_is_complete()) {
      DOVETAIL_TRY(end_shard());
    }
    DOVETAIL_TRY(pipeline_->append(record));
    ++records_;
    raw_bytes_ += record.size();
    shard_bytes_ += record.size();
    shard_open_ = true;
    return {};
  }

  // Checked before each record, so that no shard begins without a record.
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
                                             ": this makes more than " + std::to_string(kMaxShards) + " shards");
    }
    DOVETAIL_TRY(pipeline_->end_shard());
    ++ended_;
    shard_bytes_ = 0;
    shard_open_ = false;
    return {};
  }

  Result<void> keep(detail::FinishedShard shard) {
    info_.shards.push_back(std::move(shard.info));
    return shard.file.publish(true);
  }

  Result<void> write_all() {
    while (options_.shards != 0 ? ended_ < options_.shards : shard_open_) {
      DOVETAIL_TRY(end_shard());
    }
    DOVETAIL_TRY(pipeline_->finish());
    info_.id = *options_.shard.dataset_id;
    info_.manifest = target_ + '/' + format::kManifestName;
    DOVETAIL_TRY(detail::write_manifest(staging_->folder(), info_.id, options_.shard.codec, info_.shards));
    DOVETAIL_TRY(staging_->publish(options_.shard.overwrite));
    return staging_->tidy();
  }

  void remove_all() noexcept {
    pipeline_.reset();
    if (staging_) staging_->remove();
  }

  const detail::ProcessMark process_;
  const DatasetWriterOptions options_;
  std::optional<detail::Staging> staging_;  // empty once the dataset is finished
  std::string target_;
  std::unique_ptr<detail::EncodePipeline> pipeline_;
  DatasetInfo info_;
  State state_ = State::open;
  Error failure_;
  std::uint64_t records_ = 0;
  std::uint64_t raw_bytes_ = 0;
  std::uint64_t shard_bytes_ = 0;
  std::uint32_t ended_ = 0;
  bool shard_open_ = false;
};

Result<DatasetWriter> DatasetWriter::create(const std::string& folder, DatasetWriterOptions options) {
  return detail::guard_memory(folder, [&]() -> Result<DatasetWriter> {
    DOVETAIL_TRY(detail::validate(options));
    DOVETAIL_TRY(check_metadata(options.shard));
    if (!options.shard.dataset_id) options.shard.dataset_id = DatasetId::random();
    DOVETAIL_ASSIGN(auto staging, detail::Staging::begin(folder, options.shard.overwrite));
    auto impl = std::make_unique<Impl>(std::move(options), std::move(staging));
    DOVETAIL_TRY(impl->start());
    return DatasetWriter(std::move(impl));
  });
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
