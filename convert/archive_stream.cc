// SPDX-License-Identifier: Apache-2.0
#include "convert/archive_stream.h"

#include <archive.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dovetail::detail {

namespace {

struct ArchiveEnd {
  void operator()(archive* packed) const noexcept { ::archive_read_free(packed); }
};

class ArchiveStream final : public ByteStream {
 public:
  ArchiveStream(SourceFile file, Compression compression)
      : file_(std::move(file)), compression_(compression), stored_(kReadBytes) {}

  Result<void> begin() {
    packed_.reset(::archive_read_new());
    archive* const packed = packed_.get();
    if (packed == nullptr) return Error::from_errno(ENOMEM).in_file(file_.path());
    const int filter = compression_ == Compression::bzip2 ? ::archive_read_support_filter_bzip2(packed)
                                                          : ::archive_read_support_filter_zstd(packed);
    // A warning would tell that another program decompresses.
    if (filter != ARCHIVE_OK || ::archive_read_support_format_raw(packed) != ARCHIVE_OK) return failure();
    return {};
  }

  Result<std::optional<StreamPiece>> next() override {
    if (!open_) {
      if (auto opened = open(); !opened) return opened.error();
    }
    const std::uint64_t begin = used();
    const void* block = nullptr;
    std::size_t bytes = 0;
    while (bytes == 0) {
      la_int64_t offset = 0;
      const int status = ::archive_read_data_block(packed_.get(), &block, &bytes, &offset);
      if (status == ARCHIVE_EOF) return end();
      if (status != ARCHIVE_OK) return failure();
    }
    return StreamPiece{ByteView(static_cast<const std::byte*>(block), bytes), begin, used()};
  }

 private:
  static la_ssize_t feed(archive* packed, void* self, const void** buffer) {
    auto& stream = *static_cast<ArchiveStream*>(self);
    const auto read = stream.file_.read(stream.stored_);
    if (!read) {
      stream.file_failure_ = read.error();
      ::archive_set_error(packed, EIO, "the file cannot be read");
      return -1;
    }
    *buffer = stream.stored_.data();
    return static_cast<la_ssize_t>(*read);
  }

  Result<void> open() {
    archive* const packed = packed_.get();
    if (::archive_read_open(packed, this, nullptr, &ArchiveStream::feed, nullptr) != ARCHIVE_OK) return failure();
    const int wanted = compression_ == Compression::bzip2 ? ARCHIVE_FILTER_BZIP2 : ARCHIVE_FILTER_ZSTD;
    // libarchive undoes what it finds: nothing, where the file is something else, and twice where it was done twice.
    if (::archive_filter_count(packed) != 2 || ::archive_filter_code(packed, 0) != wanted) {
      return Error(Errc::decompression, "not one stream of " + std::string(to_string(compression_)))
          .at(file_.path(), 0);
    }
    archive_entry* entry = nullptr;
    if (::archive_read_next_header(packed, &entry) != ARCHIVE_OK) return failure();
    open_ = true;
    return {};
  }

  Result<std::optional<StreamPiece>> end() {
    if (used() == file_.size()) return std::nullopt;
    return Error(Errc::decompression,
                 "bytes that are not " + std::string(to_string(compression_)) + " follow the end of the stream")
        .at(file_.path(), used());
  }

  // Of the compressed bytes.
  std::uint64_t used() const {  // which is below 0 where decompression could not begin
    return static_cast<std::uint64_t>(std::max<la_int64_t>(::archive_filter_bytes(packed_.get(), -1), 0));
  }

  Error failure() const {
    if (file_failure_) return *file_failure_;
    const char* const text = ::archive_error_string(packed_.get());
    const std::string_view reason = text != nullptr ? text : "libarchive gives no reason";
    if (::archive_errno(packed_.get()) == ENOMEM) {
      return Error::from_errno(ENOMEM, "cannot decompress").at(file_.path(), used());
    }
    const bool cut = reason.find("runcated") != std::string_view::npos;
    return Error(cut ? Errc::truncated : Errc::decompression,
                 std::string(to_string(compression_)) + ": " + std::string(reason))
        .at(file_.path(), used());
  }

  SourceFile file_;
  Compression compression_;
  std::vector<std::byte> stored_;
  std::unique_ptr<archive, ArchiveEnd> packed_;
  std::optional<Error> file_failure_;
  bool open_ = false;
};

}  // namespace

Result<std::unique_ptr<ByteStream>> make_archive_stream(SourceFile file, Compression compression) {
  auto stream = std::make_unique<ArchiveStream>(std::move(file), compression);
  if (auto begun = stream->begin(); !begun) return begun.error();
  return std::unique_ptr<ByteStream>(std::move(stream));
}

}  // namespace dovetail::detail
