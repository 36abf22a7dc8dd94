// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "format/try.h"
#include "sources/file_records.h"

namespace dovetail::detail {

/// A stream of bytes, cut into records by a scanner with the calls of `LineScanner`: `feed`,
/// `next`, `finish`, `records`, `record_offset` and `goes_on`.
template <class Scanner>
class ScannedFile final : public FileRecords {
 public:
  ScannedFile(std::string path, std::unique_ptr<ByteStream> stream, Scanner scanner)
      : path_(std::move(path)), stream_(std::move(stream)), scanner_(std::move(scanner)) {}

  Result<std::optional<ByteView>> next() override {
    return skipped_to_ ? *std::exchange(skipped_to_, std::nullopt) : scan();
  }

  /// Scans the records that it skips, but the caller need not parse them.
  Result<void> skip_to(std::uint64_t consumed) override {
    if (!skipped_to_) skipped_to_ = scan();
    while (*skipped_to_ && **skipped_to_ && place_.consumed < consumed) skipped_to_ = scan();
    return {};
  }

  RecordPlace place() const override { return place_; }
  const Scanner& scanner() const noexcept { return scanner_; }
  bool goes_on() const override { return !stream_failed_ && scanner_.goes_on(); }

 private:
  Result<std::optional<ByteView>> scan() {
    Result<std::optional<ByteView>> record = scanner_.next();
    // The record begins in the current piece, even if later pieces complete it.
    place_ = place_in(piece_, scanner_.record_offset() - decoded_begin_);
    while (record && !*record && !ended_) {
      auto piece = stream_->next();
      if (!piece) {
        stream_failed_ = true;
        return in_record(piece.error());
      }
      if (*piece) {
        feed(**piece);
        record = scanner_.next();
        // The rest of a skipped record has ended here.
        if (scanner_.record_offset() > decoded_begin_) {
          place_ = place_in(piece_, scanner_.record_offset() - decoded_begin_);
        }
      } else {
        ended_ = true;
        record = scanner_.finish();
      }
    }
    if (!record) return record.error().at(path_, place_.offset);
    return record;
  }

  void feed(const StreamPiece& piece) {
    decoded_begin_ += piece_.bytes.size();
    piece_ = piece;
    scanner_.feed(piece.bytes);
  }

  // An error of the stream has its own place in the file, but no record number.
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
  std::optional<Result<std::optional<ByteView>>> skipped_to_;  // what `next` returns
  bool ended_ = false;
  bool stream_failed_ = false;
};

template <class Scanner>
Result<std::unique_ptr<ScannedFile<Scanner>>> open_scanned(SourceFile file, Compression compression, Scanner scanner) {
  std::string path = file.path();
  DOVETAIL_ASSIGN(auto stream, make_byte_stream(std::move(file), compression));
  return std::make_unique<ScannedFile<Scanner>>(std::move(path), std::move(stream), std::move(scanner));
}

template <class Scanner>
Result<std::unique_ptr<FileRecords>> scan_file(SourceFile file, Compression compression, Scanner scanner) {
  DOVETAIL_ASSIGN(auto records, open_scanned(std::move(file), compression, std::move(scanner)));
  return std::unique_ptr<FileRecords>(std::move(records));
}

}  // namespace dovetail::detail
