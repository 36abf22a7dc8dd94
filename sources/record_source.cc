// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include <dovetail/record_source.h>

#include "format/try.h"
#include "sources/bytes/source_file.h"
#include "sources/detect.h"
#include "sources/file_records.h"
#include "sources/listing.h"
#include "sources/openers.h"

namespace dovetail {

namespace {
Error out_of_memory(const std::string& path) {
  return Error::from_errno(ENOMEM, "not enough memory to read it").in_file(path);
}
}  // namespace

class RecordSource::Impl {
 public:
  Impl(detail::SourceListing listing, const SourceOptions& options)
      : listing_(std::move(listing)),
        options_(options),
        path_(listing_.path_of(0)),
        compression_(listing_.compression) {}

  Result<void> prepare() {
    DOVETAIL_ASSIGN(opener_, detail::make_opener(listing_, options_));
    return {};
  }

  Result<std::optional<ByteView>> next() {
    if (std::exchange(held_, false)) return passed_;
    return read_next(0);
  }

  Result<void> skip_to(std::uint64_t consumed) {
    if (std::exchange(held_, false)) {
      if (!passed_ || consumed_bytes() >= consumed) {
        held_ = true;
        return {};
      }
    }
    skip_files(consumed);
    for (;;) {
      DOVETAIL_ASSIGN(auto record, read_next(consumed));
      passed_ = record;
      held_ = !passed_ || consumed_bytes() >= consumed;
      if (held_) return {};
    }
  }

  std::string_view key() const noexcept { return records_ && begun_ ? records_->key() : std::string_view(); }
  std::uint64_t line() const noexcept { return records_ && begun_ ? records_->line() : 0; }
  std::string changed_number() const { return records_ && begun_ ? records_->changed_number() : std::string(); }
  bool repeats_key() const noexcept { return records_ && begun_ && records_->repeats_key(); }
  const detail::SourceListing& listing() const noexcept { return listing_; }
  const detail::FileOpener& opener() const noexcept { return opener_; }
  const std::string& path() const noexcept { return path_; }
  Compression compression() const noexcept { return compression_; }
  std::uint64_t offset() const noexcept { return place_.offset; }
  // Limited, because a file that has grown since the listing must not move the count past its end.
  std::uint64_t consumed_bytes() const noexcept { return std::min(before_ + place_.consumed, listing_.bytes); }
  std::uint64_t skipped() const noexcept { return skipped_; }
  std::uint64_t ignored() const noexcept { return ignored_ + (records_ ? records_->ignored() : 0); }

 private:
  // Returns the next record. Records with fewer than `wanted` bytes of input before them may be
  // skipped, and their failures are not counted.
  Result<std::optional<ByteView>> read_next(std::uint64_t wanted) {
    if (failure_) return *failure_;
    for (;;) {
      auto record = next_within_memory(wanted);
      if (record) return record;
      if (options_.on_error == OnError::fail || is_final(record.error())) {
        failure_ = with_remedy(record.error());
        return *failure_;
      }
      pass_over(record.error(), wanted);
    }
  }

  // Returns whether an error is not the fault of one record or file: then all further reads would
  // fail, too. After `file_changed`, all later places differ from the listing.
  static bool is_final(const Error& error) {
    if (error.is(Errc::file_changed) || error.kind() == ErrorKind::cancelled) return true;
    return error.kind() == ErrorKind::io && error.code() != boost::system::errc::no_such_file_or_directory;
  }

  // One bad record among millions is common, and its error is seen before the manual.
  Error with_remedy(const Error& error) const {
    const bool of_one_record = records_ && begun_ && records_->goes_on();
    if (!of_one_record || is_final(error) || error.kind() != ErrorKind::damaged || !error.offset()) return error;
    const std::string detail = error.detail() + "; `convert --on-error skip` leaves such records out";
    return Error(error.code(), detail).at(error.path(), *error.offset());
  }

  // A compressed file may have given wrong bytes before its fault showed: most have one checksum, at
  // their end. Only TFRecords have checksums of their own.
  Error with_doubt(const Error& error) const {
    if (!error.is(Errc::decompression) || listing_.format == SourceFormat::tfrecord) return error;
    const Error doubtful(error.code(),
                         error.detail() + "; records before it in this file may be wrong, too; leave the file out");
    return error.offset() ? doubtful.at(error.path(), *error.offset()) : doubtful.in_file(error.path());
  }

  void pass_over(const Error& error, std::uint64_t wanted) {
    const bool rest = !records_ || !records_->goes_on();
    if (consumed_bytes() >= wanted) {
      ++skipped_;
      if (options_.skipped) options_.skipped({rest ? with_doubt(error) : error, consumed_bytes(), rest});
    }
    if (rest) leave_file();
  }

  // Skips files whose records all have fewer bytes before them. In a compressed file, even the last
  // record may count all bytes as before it.
  void skip_files(std::uint64_t consumed) {
    while (file_ != listing_.files.size()) {
      const std::uint64_t last = listing_.format == SourceFormat::folder ? 0 : listing_.files[file_].size;
      if (before_ + last >= consumed) return;
      leave_file();
    }
  }

  void leave_file() {
    before_ += listing_.files[file_].size;
    place_ = {};
    ++file_;
    if (records_) ignored_ += records_->ignored();
    records_.reset();
    begun_ = false;
  }

  // Attributes running out of memory to the next record, and names its file.
  Result<std::optional<ByteView>> next_within_memory(std::uint64_t wanted) {
    try {
      return next_in_files(wanted);
    } catch (const std::bad_alloc&) {
      return out_of_memory(path_);
    }
  }

  Result<std::optional<ByteView>> next_in_files(std::uint64_t wanted) {
    while (file_ != listing_.files.size()) {
      if (!records_) {
        DOVETAIL_TRY(open_file());
      }
      if (wanted > before_ + place_.consumed && (options_.on_error == OnError::fail || records_->jumps_over_damage())) {
        DOVETAIL_TRY(records_->skip_to(wanted - before_));
      }
      auto record = records_->next();
      begun_ = true;
      place_ = records_->place();
      place_.consumed = std::min(place_.consumed, listing_.files[file_].size);
      if (!record || *record) return record;
      leave_file();
    }
    return std::nullopt;
  }

  Result<void> open_file() {
    path_ = listing_.path_of(file_);
    place_ = {};
    DOVETAIL_ASSIGN(auto file, detail::SourceFile::open(path_));
    file.watch(options_.cancelled);
    // For a shard, the listing has the size of the requested share. The shard's own index tells
    // whether the file is complete.
    const std::uint64_t listed = listing_.files[file_].size;
    if (listing_.format != SourceFormat::dovetail && file.size() != listed) {
      return Error(Errc::file_changed, "it has " + std::to_string(file.size()) + " bytes, but had " +
                                           std::to_string(listed) + " when it was listed")
          .in_file(path_);
    }
    if (const auto told = listing_.files[file_].compression) {
      compression_ = *told;
    } else if (listing_.format != SourceFormat::folder) {
      DOVETAIL_ASSIGN(auto kind, detail::detect_file(file, listing_.format));
      compression_ = kind.compression;
    }
    DOVETAIL_ASSIGN(auto records, opener_.open(file_, std::move(file), compression_));
    records_ = std::move(records);
    return {};
  }

  detail::SourceListing listing_;
  SourceOptions options_;
  detail::FileOpener opener_;
  std::size_t file_ = 0;
  std::string path_;
  Compression compression_;
  detail::RecordPlace place_;
  std::uint64_t before_ = 0;                      // sizes of the files before the current one
  std::unique_ptr<detail::FileRecords> records_;  // of the open file
  bool begun_ = false;                            // the open file was asked for a record
  bool held_ = false;                             // `skip_to` has read the record that `next` returns
  std::optional<ByteView> passed_;
  std::optional<Error> failure_;
  std::uint64_t skipped_ = 0;
  std::uint64_t ignored_ = 0;  // in the files already left
};

Result<RecordSource> RecordSource::open(const std::string& path, const SourceOptions& options) {
  try {
    DOVETAIL_ASSIGN(auto listing, detail::list_source(path, options));
    auto impl = std::make_unique<Impl>(std::move(listing), options);
    DOVETAIL_TRY(impl->prepare());
    return RecordSource(std::move(impl));
  } catch (const std::bad_alloc&) {
    return out_of_memory(path);
  }
}

RecordSource::RecordSource(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RecordSource::RecordSource(RecordSource&&) noexcept = default;
RecordSource& RecordSource::operator=(RecordSource&&) noexcept = default;
RecordSource::~RecordSource() = default;

Result<std::optional<ByteView>> RecordSource::next() {
  if (!impl_) return Error(Errc::closed, "the source was moved from");
  return impl_->next();
}
Result<void> RecordSource::skip_to(std::uint64_t consumed_bytes) {
  if (!impl_) return Error(Errc::closed, "the source was moved from");
  return impl_->skip_to(consumed_bytes);
}
std::string_view RecordSource::key() const noexcept {
  return impl_->key();
}
SourceFormat RecordSource::format() const noexcept {
  return impl_->listing().format;
}
bool RecordSource::makes_examples() const noexcept {
  return impl_->opener().makes_examples;
}
std::string RecordSource::record_type() const {
  if (makes_examples()) return "example";
  switch (format()) {
    case SourceFormat::folder:
      return "file";
    case SourceFormat::lines:
      return "line";
    case SourceFormat::dovetail:
      return impl_->opener().record_type;
    default:
      return std::string(to_string(format()));
  }
}
std::map<std::string, std::string> RecordSource::metadata() const {
  return impl_->opener().metadata;
}
std::optional<Schema> RecordSource::schema() const {
  const auto& schema = impl_->opener().schema;
  return schema ? schema() : std::nullopt;
}
std::uint64_t RecordSource::files() const noexcept {
  return impl_->listing().files.size();
}
std::uint64_t RecordSource::input_bytes() const noexcept {
  return impl_->listing().bytes;
}
const LeftOut& RecordSource::left_out() const noexcept {
  return impl_->listing().left_out;
}
const std::vector<std::string>& RecordSource::unmatched() const noexcept {
  return impl_->listing().unmatched;
}
const std::vector<std::string>& RecordSource::notes() const noexcept {
  return impl_->listing().notes;
}
std::vector<std::string> RecordSource::classes() const {
  return impl_->opener().classes;
}
std::vector<CsvColumn> RecordSource::columns() const {
  const auto& columns = impl_->opener().columns;
  return columns ? columns() : std::vector<CsvColumn>();
}
const std::string& RecordSource::file() const noexcept {
  return impl_->path();
}
Compression RecordSource::compression() const noexcept {
  return impl_->compression();
}
std::uint64_t RecordSource::line() const noexcept {
  return impl_->line();
}
std::string RecordSource::changed_number() const {
  return impl_->changed_number();
}
bool RecordSource::repeats_key() const noexcept {
  return impl_->repeats_key();
}
std::uint64_t RecordSource::offset() const noexcept {
  return impl_->offset();
}
std::uint64_t RecordSource::consumed_bytes() const noexcept {
  return impl_->consumed_bytes();
}
std::uint64_t RecordSource::skipped() const noexcept {
  return impl_->skipped();
}
std::uint64_t RecordSource::ignored() const noexcept {
  return impl_->ignored();
}

}  // namespace dovetail
