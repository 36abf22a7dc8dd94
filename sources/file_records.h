// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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

#include "sources/bytes/byte_stream.h"
#include "sources/bytes/source_file.h"

namespace dovetail::detail {

/// Where a record begins in its file.
struct RecordPlace {
  std::uint64_t offset = 0;    ///< Of its first byte; in a compressed file, of the piece that it begins in.
  std::uint64_t consumed = 0;  ///< Bytes of the file before it; in a compressed file, interpolated.
};

/// Of the byte at `used` of a piece; at its end, where the next piece begins.
RecordPlace place_in(const StreamPiece& piece, std::uint64_t used) noexcept;

/// The records of one file in order.
///
/// Ownership: a record is valid until the next call of `next()`.
/// Errors:    with path and offset, and the number of the record in the file. After one, do not ask again, unless it
///            `goes_on()`.
class FileRecords {
 public:
  virtual ~FileRecords() = default;
  /// The next record, or nothing at the end of the file.
  virtual Result<std::optional<ByteView>> next() = 0;
  /// Of the record that `next()` was last asked for.
  virtual RecordPlace place() const = 0;
  /// What names that record; empty where nothing does.
  virtual std::string_view key() const { return {}; }
  /// Goes forward where that is cheaper than reading, but never past a record with `consumed` bytes or more before it.
  virtual Result<void> skip_to(std::uint64_t /*consumed*/) { return {}; }
  /// Whether `next()` can be asked again after it failed, and then goes on behind what it failed at.
  virtual bool goes_on() const { return false; }
  /// Whether what `skip_to` goes over has no say in which records follow it. Else, where damage is passed over, a file
  /// is read from its beginning: who came in behind damage that ends the file would find other records than who met it.
  virtual bool jumps_over_damage() const { return false; }
  /// What was in the file and is no record, nor a part of one: links and folders in an archive, blank lines.
  virtual std::uint64_t ignored() const { return 0; }
};

/// Knows how the files of a source are read.
class FileOpener {
 public:
  virtual ~FileOpener() = default;
  /// Errors: the system's; those of what is looked at before the first record.
  virtual Result<std::unique_ptr<FileRecords>> open(std::size_t file, SourceFile bytes, Compression compression) = 0;
  /// Whether records are Examples.
  virtual bool makes_examples() const { return false; }
  // What a dataset says of its records; others say nothing.
  virtual std::string record_type() const { return {}; }
  virtual std::map<std::string, std::string> metadata() const { return {}; }
  /// Where the format knows the shapes of all that is in an Example.
  virtual std::optional<Schema> schema() const { return std::nullopt; }
  /// With labels, the names that stand behind their numbers.
  virtual std::vector<std::string> classes() const { return {}; }
  virtual std::vector<CsvColumn> columns() const { return {}; }
};

/// Those of formats whose records stand alone: the bytes of a record are those of the file.
/// Needs: `tfrecord` or `lines`.
std::unique_ptr<FileOpener> make_plain_opener(SourceFormat format, std::uint32_t max_record_bytes);

}  // namespace dovetail::detail
