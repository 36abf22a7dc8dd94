// SPDX-License-Identifier: Apache-2.0
#include "convert/file_records.h"

#include <array>
#include <string>
#include <utility>

#include "convert/byte_stream.h"
#include "convert/line_scanner.h"
#include "format/tfrecord.h"

namespace dovetail::detail {

namespace {

Result<std::optional<ByteView>> end_of(format::TfrecordScanner& scanner) {
  if (auto whole = scanner.finish(); !whole) return whole.error();
  return std::nullopt;
}

Result<std::optional<ByteView>> end_of(LineScanner& scanner) {
  return scanner.finish();
}

/// A stream of bytes, cut into records by a scanner.
template <class Scanner>
class ScannedFile final : public FileRecords {
 public:
  ScannedFile(std::string path, std::unique_ptr<ByteStream> stream, Scanner scanner)
      : path_(std::move(path)), stream_(std::move(stream)), scanner_(std::move(scanner)) {}

  Result<std::optional<ByteView>> next() override {
    Result<std::optional<ByteView>> record = scanner_.next();
    // The record begins in the piece that is there now, even if pieces that follow are needed to complete it.
    place_ = place_of(scanner_.record_offset());
    while (record && !*record && !ended_) {
      auto piece = stream_->next();
      if (!piece) return in_record(piece.error());
      if (*piece) {
        feed(**piece);
        record = scanner_.next();
      } else {
        ended_ = true;
        record = end_of(scanner_);
      }
    }
    if (!record) return record.error().at(path_, place_.offset);
    return record;
  }

  RecordPlace place() const override { return place_; }

 private:
  void feed(const StreamPiece& piece) {
    decoded_begin_ += piece_.bytes.size();
    piece_ = piece;
    scanner_.feed(piece.bytes);
  }

  RecordPlace place_of(std::uint64_t decoded_offset) const {
    const std::uint64_t size = piece_.bytes.size();
    if (size == 0) return {};
    const std::uint64_t inside = decoded_offset - decoded_begin_;
    const std::uint64_t input = piece_.input_end - piece_.input_begin;
    // Both factors are the sizes of buffers: far below 2^32.
    const std::uint64_t consumed = piece_.input_begin + inside * input / size;
    const bool plain = input == size;
    return {plain ? consumed : piece_.input_begin, consumed};
  }

  // A failure of the stream knows its own place in the file, but not which record it hits.
  Error in_record(const Error& error) const {
    Error told(error.code(), "record " + std::to_string(scanner_.records()) + ": " + error.detail());
    return error.offset() ? told.at(path_, *error.offset()) : told.in_file(path_);
  }

  std::string path_;
  std::unique_ptr<ByteStream> stream_;
  Scanner scanner_;
  StreamPiece piece_;
  std::uint64_t decoded_begin_ = 0;  // of the piece, in the decoded stream
  RecordPlace place_;
  bool ended_ = false;
};

template <class Scanner>
Result<std::unique_ptr<FileRecords>> scan(SourceFile file, Compression compression, std::uint32_t max_record_bytes) {
  std::string path = file.path();
  auto stream = make_byte_stream(std::move(file), compression);
  if (!stream) return stream.error();
  return std::unique_ptr<FileRecords>(
      new ScannedFile<Scanner>(std::move(path), std::move(*stream), Scanner(max_record_bytes)));
}

}  // namespace

Result<std::unique_ptr<FileRecords>> read_tfrecords(SourceFile file, Compression compression,
                                                    std::uint32_t max_record_bytes) {
  return scan<format::TfrecordScanner>(std::move(file), compression, max_record_bytes);
}

Result<std::unique_ptr<FileRecords>> read_lines(SourceFile file, Compression compression,
                                                std::uint32_t max_record_bytes) {
  return scan<LineScanner>(std::move(file), compression, max_record_bytes);
}

Result<ByteView> read_whole(SourceFile file, std::uint32_t max_record_bytes, std::vector<std::byte>& buffer) {
  if (file.size() > max_record_bytes) {
    return Error(Errc::record_too_large, "the file has " + std::to_string(file.size()) + " bytes; the limit is " +
                                             std::to_string(max_record_bytes))
        .in_file(file.path());
  }
  buffer.resize(static_cast<std::size_t>(file.size()));
  auto read = file.read(buffer);
  if (!read) return read.error();
  std::array<std::byte, 1> beyond;
  auto more = file.read(beyond);
  if (!more) return more.error();
  if (*read != buffer.size() || *more != 0) {
    return Error(Errc::file_changed, "its size is not the " + std::to_string(file.size()) + " bytes it was opened with")
        .at(file.path(), *read);
  }
  return ByteView(buffer);
}

}  // namespace dovetail::detail
