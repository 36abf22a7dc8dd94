// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/dataset_writer.h>
#include <dovetail/error.h>

namespace dovetail {

/// What a source is made of, and so what its records are.
enum class SourceFormat : std::uint8_t {
  detect,    ///< By content; a folder of files whose names all are those of TFRecords is read as TFRecords.
  tfrecord,  ///< The records of TFRecord files: plain, gzip or zlib, told apart by content.
  folder,    ///< Every regular file below a folder, one record each, in bytewise order of their relative paths.
  lines,     ///< Every line of a text file, plain or gzip, without its newline.
};

/// How the bytes of a file are compressed as a whole.
enum class Compression : std::uint8_t { none, gzip, zlib };

/// "tfrecord", "folder" or "lines"; "detect" too.
std::string_view to_string(SourceFormat format) noexcept;
/// "none", "gzip" or "zlib".
std::string_view to_string(Compression compression) noexcept;

struct SourceOptions {
  SourceFormat format = SourceFormat::detect;
  /// Longer records are an error.
  std::uint32_t max_record_bytes = 0xFFFFFFFFu;
};

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
  /// Files that the source is made of, and their sizes added up when it was opened.
  std::uint64_t files() const noexcept;
  std::uint64_t input_bytes() const noexcept;

  // Of the record that `next()` gave last; before the first, where it will begin.

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

/// How far a conversion is.
struct ConvertProgress {
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;    ///< Of the records.
  std::uint64_t input_bytes = 0;  ///< Read so far, as stored.
  std::uint64_t input_total = 0;
};

/// What is converted, and into what.
struct ConvertOptions {
  /// Files and folders; their records follow each other in this order.
  std::vector<std::string> sources = {};
  SourceFormat from = SourceFormat::detect;
  /// `shard.max_record_bytes` limits what is read as well. An empty `shard.record_type` becomes "tfrecord", "file" or
  /// "line" where all sources are of one format.
  DatasetWriterOptions writer = {};
  /// Exactly this many shards, of about equal shares of the input: record r goes to shard b * shards / t, where b of
  /// all t input bytes lie before it. The order of the records is kept, and some shards may be empty. Up to
  /// `kMaxShards`; 0 means that `writer` decides.
  std::uint32_t shards = 0;
  /// Called after each record, so it should return at once; false cancels.
  std::function<bool(const ConvertProgress&)> progress = {};
};

/// What `convert` did.
struct ConvertReport {
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t files = 0;            ///< Input files.
  std::vector<SourceFormat> formats;  ///< Of each source.
  DatasetInfo dataset;
};

/// Packs sources of other formats into a dataset, in one pass.
///
/// Errors: those of `RecordSource` and `DatasetWriter`; `empty_input` where there is no source, or no record in any;
///         `invalid_option`; `boost::system::errc::operation_canceled`. After any of them no file of the dataset is
///         left.
/// Cost:   memory does not grow with the size of the input, but for the names of a folder's files.
Result<ConvertReport> convert(const std::string& folder, const ConvertOptions& options);

}  // namespace dovetail
