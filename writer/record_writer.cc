// SPDX-License-Identifier: Apache-2.0
#include <dovetail/record_writer.h>

#include <utility>

#include "format/block_encoder.h"
#include "format/guard_memory.h"
#include "format/moved_from.h"
#include "format/process_mark.h"
#include "format/try.h"
#include "writer/block_cutter.h"
#include "writer/shard_output.h"
#include "writer/target.h"
#include "writer/writer_options.h"

namespace dovetail {

class RecordWriter::Impl {
 public:
  Impl(const std::string& path, WriterOptions options, detail::ShardOutput shard)
      : path_(path),
        options_(std::move(options)),
        shard_(std::move(shard)),
        cutter_(options_, [this](format::RawBlock& block) { return write_block(block); }) {}

  Result<void> append(ByteView record) {
    if (!is_open()) return stop_reason();
    if (auto ok = detail::check_record(options_, records_, record); !ok) {
      return ok.error().in_file(path_);
    }
    DOVETAIL_TRY(guarded([&] { return cutter_.append(record); }));
    ++records_;
    return {};
  }

  Result<ShardInfo> finish() {
    if (!is_open()) return stop_reason();
    ShardInfo info;
    DOVETAIL_TRY(guarded([&] { return write_end(info); }));
    close(State::finished);
    return info;
  }

  void abandon() noexcept {
    if (state_ == State::open) close(State::abandoned);
  }

  std::uint64_t records() const noexcept { return records_; }

 private:
  enum class State { open, finished, abandoned, failed };

  // A forked child shares the file position with its parent, and its blocks are copies of the
  // parent's.
  bool is_open() const noexcept { return state_ == State::open && !process_.forked(); }

  Error stop_reason() const {
    if (process_.forked()) return process_.error().in_file(path_);
    if (state_ == State::failed) return failure_;
    return Error(Errc::closed, state_ == State::finished ? "the shard is finished" : "the writer was abandoned")
        .in_file(path_);
  }

  // Every failure becomes final here.
  template <class Step>
  Result<void> guarded(Step&& step) {
    Result<void> done = detail::guard_memory(path_, step);
    if (done) return done;
    failure_ = done.error();
    close(State::failed);
    return failure_ = failure_.in_file(path_);
  }

  Result<void> write_block(const format::RawBlock& block) {
    format::encode_block(block, options_.codec, encoded_, options_.codec_level);
    return shard_->add(encoded_);
  }

  Result<void> write_end(ShardInfo& info) {
    DOVETAIL_ASSIGN(auto cut, cutter_.end_shard());
    DOVETAIL_ASSIGN(auto finished, shard_->finish(cut));
    info = std::move(finished.info);
    return finished.file.commit(options_.overwrite);
  }

  void close(State state) noexcept {
    state_ = state;
    shard_.reset();
  }

  const detail::ProcessMark process_;
  const std::string path_;
  const WriterOptions options_;
  std::optional<detail::ShardOutput> shard_;
  detail::BlockCutter cutter_;
  format::EncodedBlock encoded_;
  std::uint64_t records_ = 0;
  State state_ = State::open;
  Error failure_;
};

namespace {

Result<detail::ShardOutput> create_output(const std::string& path, WriterOptions& options) {
  DOVETAIL_TRY(detail::validate(options));
  const std::size_t slash = path.find_last_of('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name.empty()) return Error(Errc::invalid_option, "path = \"" + path + "\": it must name a file");
  DOVETAIL_TRY(detail::check_shard_target(path, options.overwrite));

  DOVETAIL_ASSIGN(auto folder, detail::OutputFolder::open(path.substr(0, slash == std::string::npos ? 0 : slash + 1)));
  if (!options.dataset_id) options.dataset_id = DatasetId::random();
  auto shard = detail::ShardOutput::create(std::move(folder), name, *options.dataset_id, options.shard_number,
                                           detail::make_metadata(options));
  return shard;
}

}  // namespace

Result<RecordWriter> RecordWriter::create(const std::string& path, WriterOptions options) {
  return detail::guard_memory(path, [&]() -> Result<RecordWriter> {
    DOVETAIL_ASSIGN(detail::ShardOutput shard, create_output(path, options));
    return RecordWriter(std::make_unique<Impl>(path, std::move(options), std::move(shard)));
  });
}

RecordWriter::RecordWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RecordWriter::RecordWriter(RecordWriter&&) noexcept = default;
RecordWriter& RecordWriter::operator=(RecordWriter&&) noexcept = default;
RecordWriter::~RecordWriter() = default;

Result<void> RecordWriter::append(ByteView record) {
  return impl_ ? impl_->append(record) : detail::moved_from();
}
Result<ShardInfo> RecordWriter::finish() {
  return impl_ ? impl_->finish() : detail::moved_from();
}
void RecordWriter::abandon() noexcept {
  if (impl_) impl_->abandon();
}
std::uint64_t RecordWriter::records() const noexcept {
  return impl_ ? impl_->records() : 0;
}

}  // namespace dovetail
