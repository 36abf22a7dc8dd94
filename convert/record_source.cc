// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <dovetail/record_source.h>

#include "convert/detect.h"
#include "convert/file_records.h"
#include "convert/listing.h"
#include "convert/source_file.h"

namespace dovetail {

std::string_view to_string(SourceFormat format) noexcept {
  switch (format) {
    case SourceFormat::detect:
      return "detect";
    case SourceFormat::tfrecord:
      return "tfrecord";
    case SourceFormat::folder:
      return "folder";
    case SourceFormat::lines:
      return "lines";
  }
  return "unknown";
}

std::string_view to_string(Compression compression) noexcept {
  switch (compression) {
    case Compression::none:
      return "none";
    case Compression::gzip:
      return "gzip";
    case Compression::zlib:
      return "zlib";
  }
  return "unknown";
}

class RecordSource::Impl {
 public:
  Impl(detail::SourceListing listing, std::uint32_t max_record_bytes)
      : listing_(std::move(listing)),
        max_record_bytes_(max_record_bytes),
        path_(listing_.path_of(0)),
        compression_(listing_.compression) {}

  Result<std::optional<ByteView>> next() {
    if (std::exchange(held_, false)) return passed_;
    return read_next();
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
      auto record = read_next();
      if (!record) return record.error();
      passed_ = *record;
      held_ = !passed_ || consumed_bytes() >= consumed;
      if (held_) return {};
    }
  }

  std::string_view key() const noexcept {
    if (listing_.format != SourceFormat::folder || !inside_) return {};
    return listing_.files[file_].name;
  }

  const detail::SourceListing& listing() const noexcept { return listing_; }
  const std::string& path() const noexcept { return path_; }
  Compression compression() const noexcept { return compression_; }
  std::uint64_t offset() const noexcept { return place_.offset; }
  // A file that has grown since it was listed must not carry the count past its end.
  std::uint64_t consumed_bytes() const noexcept { return std::min(before_ + place_.consumed, listing_.bytes); }

 private:
  Result<std::optional<ByteView>> read_next() {
    if (failure_) return *failure_;
    Result<std::optional<ByteView>> record = listing_.format == SourceFormat::folder ? next_whole() : next_scanned();
    if (!record) failure_ = record.error();
    return record;
  }

  // Leaves the files whose records all have fewer bytes before them. In a compressed file the last may have all of it.
  void skip_files(std::uint64_t consumed) {
    while (file_ != listing_.files.size()) {
      const std::uint64_t last = listing_.format == SourceFormat::folder ? 0 : listing_.files[file_].size;
      if (before_ + last >= consumed) return;
      records_.reset();
      inside_ = false;
      leave_file();
    }
  }

  Result<detail::SourceFile> open_next() {
    path_ = listing_.path_of(file_);
    place_ = {};
    return detail::SourceFile::open(path_);
  }

  void leave_file() {
    before_ += listing_.files[file_].size;
    place_ = {};
    ++file_;
  }

  Result<std::optional<ByteView>> next_whole() {
    if (std::exchange(inside_, false)) leave_file();
    if (file_ == listing_.files.size()) return std::nullopt;
    auto file = open_next();
    if (!file) return file.error();
    inside_ = true;
    auto bytes = detail::read_whole(std::move(*file), max_record_bytes_, buffer_);
    if (!bytes) return bytes.error();
    return *bytes;
  }

  Result<std::optional<ByteView>> next_scanned() {
    while (file_ != listing_.files.size()) {
      if (!records_) {
        if (auto begun = begin_file(); !begun) return begun.error();
      }
      auto record = records_->next();
      place_ = records_->place();
      place_.consumed = std::min(place_.consumed, listing_.files[file_].size);
      if (!record || *record) return record;
      records_.reset();
      leave_file();
    }
    return std::nullopt;
  }

  Result<void> begin_file() {
    auto file = open_next();
    if (!file) return file.error();
    auto kind = detail::detect_file(*file, listing_.format);
    if (!kind) return kind.error();
    compression_ = kind->compression;
    auto records = listing_.format == SourceFormat::lines
                       ? detail::read_lines(std::move(*file), compression_, max_record_bytes_)
                       : detail::read_tfrecords(std::move(*file), compression_, max_record_bytes_);
    if (!records) return records.error();
    records_ = std::move(*records);
    return {};
  }

  detail::SourceListing listing_;
  std::uint32_t max_record_bytes_;
  std::size_t file_ = 0;
  std::string path_;
  Compression compression_;
  detail::RecordPlace place_;
  std::uint64_t before_ = 0;                      // sizes of the files before this one
  bool inside_ = false;                           // a whole file was given out
  std::vector<std::byte> buffer_;                 // of a whole file
  std::unique_ptr<detail::FileRecords> records_;  // of a scanned one
  bool held_ = false;                             // `skip_to` has read the record, and `next` has yet to give it
  std::optional<ByteView> passed_;
  std::optional<Error> failure_;
};

Result<RecordSource> RecordSource::open(const std::string& path, const SourceOptions& options) {
  auto listing = detail::list_source(path, options.format);
  if (!listing) return listing.error();
  return RecordSource(std::make_unique<Impl>(std::move(*listing), options.max_record_bytes));
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
std::uint64_t RecordSource::files() const noexcept {
  return impl_->listing().files.size();
}
std::uint64_t RecordSource::input_bytes() const noexcept {
  return impl_->listing().bytes;
}
const std::string& RecordSource::file() const noexcept {
  return impl_->path();
}
Compression RecordSource::compression() const noexcept {
  return impl_->compression();
}
std::uint64_t RecordSource::offset() const noexcept {
  return impl_->offset();
}
std::uint64_t RecordSource::consumed_bytes() const noexcept {
  return impl_->consumed_bytes();
}

}  // namespace dovetail
