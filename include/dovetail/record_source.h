// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/source_options.h>

namespace dovetail {

/// Records of a file or folder of another format, in order, one after the other.
///
/// What is read is checked as far as its format allows: both CRCs of a TFRecord, the checksums of gzip and zlib, and
/// that neither ends early; the size of a file that is a record.
///
/// A folder's files are listed when it is opened, links to files followed, links to folders not. Where some of its
/// files have names of TFRecords and others have not, `detect` refuses to choose, and `tfrecord` takes those that have.
///
/// Ownership: a record is valid until the next call of `next()`.
/// Threads:   none; one thread at a time.
/// Errors:    name file and offset, in a compressed file that of the compressed bytes, and the number of the record in
///            it. The first of `next()` is final.
/// Cost:      about 1 MiB and one record; for a folder also the names of its files.
class RecordSource {
 public:
  /// Errors: `unknown_format` where the format cannot be told, or where the source is a Dovetail shard or dataset
  ///         already; `empty_input` for a folder without files; the system's.
  static Result<RecordSource> open(const std::string& path, const SourceOptions& options = {});

  RecordSource(RecordSource&&) noexcept;
  RecordSource& operator=(RecordSource&&) noexcept;
  ~RecordSource();

  /// The next record, or nothing at the end of the last file.
  /// Errors: `tfrecord_checksum`, `truncated`, `decompression`, `record_too_large`, `file_changed`, the system's;
  ///         `closed` after a move.
  Result<std::optional<ByteView>> next();

  /// As found or asked for; never `detect`.
  SourceFormat format() const noexcept;
  /// Whether records are of the form `RecordForm::example`; otherwise they are `raw`.
  bool makes_examples() const noexcept;
  /// Files that the source is made of, and their sizes added up when it was opened.
  std::uint64_t files() const noexcept;
  std::uint64_t input_bytes() const noexcept;

  /// Goes forward to the first record with at least so many input bytes before it, see `consumed_bytes()`, which
  /// `next()` then gives; nowhere where that record is the next one already, or was passed. Files that lie before it are
  /// not opened. Records [skip_to(a), skip_to(b)) of the same source are thus the same whoever reads them.
  /// Errors: as `next()`.
  Result<void> skip_to(std::uint64_t consumed_bytes);

  /// Records left out so far under `OnError::skip`, each rest of a file as one. Those that `skip_to` went past are not
  /// counted.
  std::uint64_t skipped() const noexcept;
  /// What was met so far that is no record: links and folders in an archive, blank lines between JSON.
  std::uint64_t ignored() const noexcept;

  // Of the record that `next()` gave last; before the first, where it will begin.

  /// What names the record in its source, such as a file's path relative to the folder; empty where nothing does. Valid
  /// until the next call of `next()`.
  std::string_view key() const noexcept;

  /// The file that holds it.
  const std::string& file() const noexcept;
  /// Of that file; of a folder's files not known before the first record.
  Compression compression() const noexcept;
  /// Where it begins in the file; in a compressed one, where the compressed bytes begin that it was decoded with.
  std::uint64_t offset() const noexcept;
  /// Input bytes before it, over all files: up to `input_bytes()`, never going back. In a compressed file it is
  /// interpolated, and the same whenever the same file is read.
  std::uint64_t consumed_bytes() const noexcept;

 private:
  class Impl;
  explicit RecordSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dovetail
