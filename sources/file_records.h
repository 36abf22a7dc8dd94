// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

#include "sources/bytes/byte_stream.h"
#include "sources/bytes/source_file.h"

namespace dovetail::detail {

/// Where a record begins in its file.
struct RecordPlace {
  std::uint64_t offset = 0;    ///< Of its first byte; in a compressed file, of the piece that it begins in.
  std::uint64_t consumed = 0;  ///< Bytes of the file before it; in a compressed file, interpolated.
};

/// Place of the byte at `used` in a piece; at its end, the beginning of the next piece.
RecordPlace place_in(const StreamPiece& piece, std::uint64_t used) noexcept;

/// The records of one file in order.
///
/// Ownership: a record is valid until the next call of `next()`.
/// Errors:    with path and offset, and the number of the record in the file. Final, unless it
///            `goes_on()`.
class FileRecords {
 public:
  virtual ~FileRecords() = default;
  /// The next record, or nothing at the end of the file.
  virtual Result<std::optional<ByteView>> next() = 0;
  /// Place of the record that `next()` was last called for.
  virtual RecordPlace place() const = 0;
  /// Name of that record; empty if it has none.
  virtual std::string_view key() const { return {}; }
  /// See `RecordSource::line`.
  virtual std::uint64_t line() const { return 0; }
  /// See `RecordSource::changed_number`.
  virtual std::string changed_number() const { return {}; }
  /// See `RecordSource::repeats_key`.
  virtual bool repeats_key() const { return false; }
  /// Skips forward if that is cheaper than reading, but never past a record with `consumed` bytes
  /// or more before it.
  virtual Result<void> skip_to(std::uint64_t /*consumed*/) { return {}; }
  /// Whether `next()` can be called again after it failed, and then continues behind the failure.
  virtual bool goes_on() const { return false; }
  /// Whether records that `skip_to` skips have no influence on the records that follow. If they do,
  /// and damage is skipped, a file is read from its beginning: a reader that started behind damage
  /// that ends the file would find other records.
  virtual bool jumps_over_damage() const { return false; }
  /// Entries so far that are not records or parts of one: links and folders in an archive, blank
  /// lines.
  virtual std::uint64_t ignored() const { return 0; }
};

/// Opens the files of a source, and knows what all their records share.
struct FileOpener {
  /// Opens the file of this number in the listing. Errors: the system's; those found before the first
  /// record.
  std::function<Result<std::unique_ptr<FileRecords>>(std::size_t file, SourceFile bytes, Compression compression)>
      open = {};
  bool makes_examples = false;  ///< Whether records are Examples.
  // From the metadata of a dataset; empty for other sources.
  std::string record_type = {};
  std::map<std::string, std::string> metadata = {};
  std::vector<std::string> classes = {};  ///< With labels: the class names, by number.
  // Made when asked for, since there may be many thousand columns; empty functions where there are none.
  std::function<std::optional<Schema>()> schema = {};  ///< If the format knows the shapes of all features.
  std::function<std::vector<CsvColumn>()> columns = {};
};

}  // namespace dovetail::detail
