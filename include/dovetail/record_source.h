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
#include <dovetail/export.h>
#include <dovetail/schema.h>
#include <dovetail/source_options.h>

namespace dovetail {

/// Reads the records of files or a folder, also of a dataset, in order, one after the other.
/// docs/sources.md describes for each format what a record is and what is checked.
///
/// The files of a folder are listed when it is opened. Links to files are followed; the rest is
/// left out, see `LeftOut`. If only some of its files have names of one format, `detect` refuses to
/// choose. Selecting that format takes the files with such names.
///
/// Ownership: a record is valid until the next call of `next()`.
/// Threads:   none; one thread at a time.
/// Errors:    name file and offset, in a compressed file that of the compressed bytes, and the
///            record, line or key. The first that `next()` returns is final.
/// Cost:      about 1 MiB and one record; for a folder also the names of its files, for RecordIO
///            and MDS the offsets of the records in a file; for Examples of JSON up to 25 times the
///            line, and the Example. CSV files are read when they are opened, see `CsvOptions::types`.
class DOVETAIL_EXPORT RecordSource {
 public:
  /// Errors: `unknown_format` if the format cannot be detected; `empty_input` for a folder without
  ///         files, or a range without records; `invalid_option` for options that the format does
  ///         not have; errors that some formats find before the first record; the system's.
  static Result<RecordSource> open(const std::string& path, const SourceOptions& options = {});

  RecordSource(RecordSource&&) noexcept;
  RecordSource& operator=(RecordSource&&) noexcept;
  ~RecordSource();

  /// Returns the next record, or nothing at the end of the last file.
  /// Errors: `tfrecord_checksum`, `truncated`, `decompression`, `malformed_input`,
  ///         `sidecar_mismatch`, `record_too_large`, `bad_length`, `file_changed`, those of a
  ///         shard, the system's; `closed` after a move.
  Result<std::optional<ByteView>> next();

  /// The detected or requested format; never `detect`.
  SourceFormat format() const noexcept;
  /// Whether records have the form `RecordForm::example`; otherwise they are `raw`.
  bool makes_examples() const noexcept;
  /// One word for the record type, for the metadata of shards: that of the source dataset, else
  /// "example", "tfrecord", "file", "line", or the word for the format.
  std::string record_type() const;
  /// Metadata of the source dataset; none for other sources.
  std::map<std::string, std::string> metadata() const;
  /// Columns of the Examples, if the source specifies them.
  std::optional<Schema> schema() const;
  /// Number of input files, and the sum of their sizes when the source was opened.
  std::uint64_t files() const noexcept;
  std::uint64_t input_bytes() const noexcept;
  /// Counts of what was left out of the folder.
  const LeftOut& left_out() const noexcept;
  /// Patterns of `SourceOptions::include` and `exclude` that match nothing in the folder.
  const std::vector<std::string>& unmatched() const noexcept;
  /// What may be a mistake in the files of the folder: some of training beside some of evaluation,
  /// by their names, and empty ones.
  const std::vector<std::string>& notes() const noexcept;
  /// For a folder with labels: the class with label i. Empty for others.
  std::vector<std::string> classes() const;
  /// Columns of CSV files. Empty for others.
  std::vector<CsvColumn> columns() const;

  /// Skips forward to the first record with at least this many input bytes before it
  /// (`consumed_bytes()`). `next()` then returns that record. Does nothing if that record is the
  /// next one already, or was passed. Files before it are not opened. So records [skip_to(a),
  /// skip_to(b)) of a source are the same for every reader.
  /// Errors: as `next()`.
  Result<void> skip_to(std::uint64_t consumed_bytes);

  /// Records left out so far under `OnError::skip`. The rest of a file counts as one, a damaged
  /// block as its records. Records that `skip_to` passed are not counted.
  std::uint64_t skipped() const noexcept;
  /// Entries so far that are not records: links and folders in an archive, blank lines between
  /// JSON. Those that `skip_to` passed may not be counted.
  std::uint64_t ignored() const noexcept;

  // About the record that `next()` returned last; before the first, about where it will begin.

  /// Key of the record in its source, such as a file's path relative to the folder; empty if there
  /// is none. Valid until the next call of `next()`.
  std::string_view key() const noexcept;

  /// The file that holds it.
  const std::string& file() const noexcept;
  /// Compression of that file; for the files of a folder, not known before the first record.
  Compression compression() const noexcept;
  /// Number of the line that it begins in, from 1, for JSON lines and CSV; else 0.
  std::uint64_t line() const noexcept;
  /// For Examples of JSON lines and CSV: the first number of 2^24 or more in magnitude that its
  /// float changes, such as `"time" is 1700000000.25, stored as 1700000000`. Empty if there is none.
  std::string changed_number() const;
  /// For Examples of tars: whether an earlier record of the same tar has this key, because the
  /// members of the key are not adjacent. Only the first 65,536 keys of a tar are remembered.
  bool repeats_key() const noexcept;
  /// Offset of the record in the file. In a compressed file, offset of the compressed bytes that it
  /// was decoded with.
  std::uint64_t offset() const noexcept;
  /// Input bytes before it, over all files: up to `input_bytes()`, never decreasing. In a
  /// compressed file it is interpolated, and the same whenever the same file is read.
  std::uint64_t consumed_bytes() const noexcept;

 private:
  class DOVETAIL_HIDDEN Impl;
  explicit RecordSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dovetail
