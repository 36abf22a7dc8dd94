// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/export.h>
#include <dovetail/schema.h>

namespace dovetail {

/// Format of a source, which also decides what a record is. See docs/sources.md. Files of all
/// formats except `mds`, `folder` and `dovetail` may be compressed as a whole with gzip, Zstandard,
/// bzip2 or xz.
enum class SourceFormat : std::uint8_t {
  /// Detected from the content; for a folder, from the names of its files.
  detect,
  /// Records of TFRecord files, also in zlib or TensorFlow's Snappy. Compression is detected from
  /// the content.
  tfrecord,
  /// Every file below a folder is a record, in bytewise order of the relative paths.
  folder,
  /// Every line of a text file, without its `\n` or `\r\n`.
  lines,
  /// Every line of a text file, checked to be JSON. Blank lines are not records.
  jsonl,
  /// WebDataset: the consecutive members of a tar that share a key.
  tar,
  /// Every row of a CSV or TSV file.
  csv,
  /// Samples of a MosaicML folder: an `index.json` and its shards, plain, gzip, bzip2 or Zstandard.
  mds,
  /// Records of MXNet's RecordIO files. Each uncompressed file is compared with its `.idx`.
  recordio,
  /// Items of IDX files; images together with their labels.
  idx,
  /// Records of a shard, a dataset or a glob of shards.
  dovetail,
};

/// Compression of a file as a whole.
enum class Compression : std::uint8_t { none, gzip, zlib, snappy, bzip2, zstd, xz };

/// Form of the records.
enum class RecordForm : std::uint8_t {
  /// Chosen by the format: `example` if a record has several parts or a name for them, else `raw`.
  automatic,
  /// The bytes as they are in the source.
  raw,
  /// A `tf.train.Example` with one feature per part, or per member of an object of JSON. A line of
  /// text is the feature `text`.
  example,
};

/// Type of a CSV column.
enum class ColumnType : std::uint8_t { bytes, int64, real };

/// A column of CSV files, with the type that was given or found.
struct DOVETAIL_EXPORT CsvColumn {
  std::string name;
  ColumnType type = ColumnType::bytes;
  /// Whether no row has a value, so that the type means nothing.
  bool empty = false;
  /// For `int64`: whether a float would round one of the numbers. Combined with fractions, such a
  /// column is `bytes`.
  bool inexact = false;
  /// Whether a row may have no value: one has none, or the type was given and no row was looked at.
  bool missing = false;
  /// For `int64`: whether a number is negative.
  bool negative = false;
  /// For `bytes`, if earlier values are numbers: the first value that does not fit them, and its
  /// place, such as "\"x\" in line 5 of rides.csv".
  std::string reason = {};

  friend bool operator==(const CsvColumn&, const CsvColumn&) = default;
};

/// Counts of what was left out of a folder, by reason. A folder that is left out counts once, with
/// everything below it.
struct DOVETAIL_EXPORT LeftOut {
  std::uint64_t hidden = 0;  ///< Names that begin with a dot.
  /// Files and folders of operating systems, such as Thumbs.db and lost+found, in either case.
  std::uint64_t litter = 0;
  /// Links that lead nowhere, for example if the content was not fetched.
  std::uint64_t dangling = 0;
  /// Links to folders, always; pipes, sockets and devices.
  std::uint64_t special = 0;
  std::uint64_t excluded = 0;  ///< Left out by `SourceOptions::include` and `exclude`.
  /// With labels: files in no subfolder. The subfolder would be their class.
  std::uint64_t unlabelled = 0;

  LeftOut& operator+=(const LeftOut& other) noexcept;
  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

/// Text such as "2 hidden files or folders, named with a dot in front; 1 link that leads nowhere".
/// Empty if nothing was left out.
DOVETAIL_EXPORT std::string to_string(const LeftOut& left_out);

/// How a record is handled that is damaged or cannot be converted.
enum class OnError : std::uint8_t {
  /// The error ends the source.
  fail,
  /// The record is left out and counted. If the next record cannot be found, the rest of the file
  /// is left out too. After a line or row that is too long, it can be found.
  skip,
};

/// The name on the command line, such as "tfrecord".
DOVETAIL_EXPORT std::string_view to_string(SourceFormat format) noexcept;
DOVETAIL_EXPORT std::string_view to_string(Compression compression) noexcept;
DOVETAIL_EXPORT std::string_view to_string(RecordForm form) noexcept;
DOVETAIL_EXPORT std::string_view to_string(ColumnType type) noexcept;

/// A record, or the rest of a file, that was left out under `OnError::skip`.
struct DOVETAIL_EXPORT SkippedRecord {
  Error error;  ///< With file, offset and reason.
  /// Bytes of the source before it. Tells to which of several ranges it belongs.
  std::uint64_t consumed_bytes = 0;
  bool rest_of_file = false;  ///< Whether the rest of its file was left out too.
  /// In a report: records lost to the same error, such as those of a damaged block.
  std::uint64_t records = 1;
};

/// How CSV files are read.
struct DOVETAIL_EXPORT CsvOptions {
  /// Separator. 0 (default): a tab if the name says `.tsv`, else a comma. Required if that gives a
  /// single column whose name contains another separator.
  char delimiter = 0;
  /// Whether the first row names the columns. If not, they are c0, c1 and so on. Names that are
  /// numbers or missing, with a number among them, are an error, unless `types` has one of them.
  bool header = true;
  /// Types by column name. To find the types of all other columns, all files are read once more
  /// before the first record, unless rows stay raw.
  /// A column is `int64` if all values of all files are whole numbers. It is `real` if all are
  /// numbers and a float rounds none that is written whole. Otherwise it is `bytes`.
  std::map<std::string, ColumnType> types = {};
  /// In columns of numbers, values that mean a missing one, as an empty value does. Columns of
  /// `bytes` keep them as texts. nan is a number.
  std::vector<std::string> nulls = {"NA", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null", "None"};
};

/// How a source is read.
struct DOVETAIL_EXPORT SourceOptions {
  SourceFormat format = SourceFormat::detect;
  /// Longest accepted record in bytes; a longer one is an error. Default 4 GiB - 1.
  std::uint32_t max_record_bytes = 0xFFFFFFFFu;
  RecordForm records = RecordForm::automatic;
  /// Records of a folder become Examples with their subfolder as label. Default off.
  bool labels = false;
  /// With `labels`: names of the classes, in the order of their numbers. Any other subfolder is an
  /// error. Empty (default): the subfolders in bytewise order, of all sources of a conversion
  /// together.
  std::vector<std::string> classes = {};
  /// Patterns of files in a folder to take (default: all), and to leave out. `*` matches any text,
  /// `?` a byte, `[a-z]` a byte of a set, `[!a-z]` a byte outside it. Patterns without a slash
  /// match names at any depth, others paths below the source. A matching folder stands for
  /// everything below it.
  std::vector<std::string> include = {};
  std::vector<std::string> exclude = {};
  CsvOptions csv = {};
  /// The columns that records will fill; `convert` sets it to a schema that it is given. A string
  /// of JSON or a text member of a tar (`cls`, `txt`, `json`) for a column of numbers is
  /// `malformed_input`; a column of texts of CSV or MDS is `invalid_option`. Without this, columns
  /// of numbers take the bytes of texts as values.
  std::optional<Schema> schema = {};

  // For datasets only: records [first, end); of these, the fraction `sample` that a hash of id and
  // seed keeps.
  std::uint64_t first = 0;
  std::optional<std::uint64_t> end = std::nullopt;
  double sample = 1;
  std::uint64_t sample_seed = 0;

  /// Called by the reading thread before each piece of a file, at most 1 MiB, even if no record
  /// comes for a long time. Returning true ends the source with `operation_canceled`.
  std::function<bool()> cancelled = {};

  OnError on_error = OnError::fail;
  /// Called for each record that is left out, in order.
  std::function<void(const SkippedRecord&)> skipped = {};
};

}  // namespace dovetail
