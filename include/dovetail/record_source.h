// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/schema.h>
#include <dovetail/source_options.h>

namespace dovetail {

/// Records of files or a folder, of a dataset too, in order, one after the other. docs/sources.md tells for each format
/// what a record is and what is checked.
///
/// A folder's files are listed when it is opened, links to files followed, and the rest left out, see `LeftOut`. Where
/// some of its files have names of one format and others have not, `detect` refuses to choose, and that format takes
/// those that have.
///
/// Ownership: a record is valid until the next call of `next()`.
/// Threads:   none; one thread at a time.
/// Errors:    name file and offset, in a compressed file that of the compressed bytes, and the record, line or key.
///            The first that `next()` returns is final.
/// Cost:      about 1 MiB and one record; for a folder also the names of its files, for RecordIO and MDS the offsets of
///            the records in a file. CSV files are read when they are opened, see `CsvOptions::types`.
class RecordSource {
 public:
  /// Errors: `unknown_format` where the format cannot be told; `empty_input` for a folder without files, or a range
  ///         without records; `invalid_option` for options that the format does not have; what some formats find wrong
  ///         before the first record; the system's.
  static Result<RecordSource> open(const std::string& path, const SourceOptions& options = {});

  RecordSource(RecordSource&&) noexcept;
  RecordSource& operator=(RecordSource&&) noexcept;
  ~RecordSource();

  /// The next record, or nothing at the end of the last file.
  /// Errors: `tfrecord_checksum`, `truncated`, `decompression`, `malformed_input`, `sidecar_mismatch`,
  ///         `record_too_large`, `bad_length`, `file_changed`, those of a shard, the system's; `closed` after a move.
  Result<std::optional<ByteView>> next();

  /// As found or asked for; never `detect`.
  SourceFormat format() const noexcept;
  /// Whether records are of the form `RecordForm::example`; otherwise they are `raw`.
  bool makes_examples() const noexcept;
  /// What a record is, in a word, for the metadata of shards: that of the dataset that it comes from, else "example",
  /// "tfrecord", "file", "line", or the word for the format.
  std::string record_type() const;
  /// The metadata of the dataset that the records come from; none for others.
  std::map<std::string, std::string> metadata() const;
  /// The columns of the Examples, where the source says what they are.
  std::optional<Schema> schema() const;
  /// Files that the source is made of, and their sizes added up when it was opened.
  std::uint64_t files() const noexcept;
  std::uint64_t input_bytes() const noexcept;
  /// What lies in the folder and is no part of the source.
  const LeftOut& left_out() const noexcept;
  /// Of `SourceOptions::include` and `exclude`, the patterns that match nothing in the folder.
  const std::vector<std::string>& unmatched() const noexcept;
  /// Of a folder with labels: the class with label i. Empty for others.
  std::vector<std::string> classes() const;
  /// Of CSV files. Empty for others.
  std::vector<CsvColumn> columns() const;

  /// Goes forward to the first record with at least so many input bytes before it, see `consumed_bytes()`, which
  /// `next()` then gives; nowhere where that record is the next one already, or was passed. Files that lie before it are
  /// not opened. Records [skip_to(a), skip_to(b)) of the same source are thus the same whoever reads them.
  /// Errors: as `next()`.
  Result<void> skip_to(std::uint64_t consumed_bytes);

  /// Records left out so far under `OnError::skip`, each rest of a file as one, each record of a damaged block. Those that `skip_to` went past are not
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
