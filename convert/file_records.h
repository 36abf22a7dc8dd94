// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/record_source.h>

#include "convert/source_file.h"

namespace dovetail::detail {

/// Where a record begins in its file.
struct RecordPlace {
  std::uint64_t offset = 0;    ///< Of its first byte; in a compressed file, of the piece that it begins in.
  std::uint64_t consumed = 0;  ///< Bytes of the file before it; in a compressed file, interpolated.
};

/// The records of one file in order.
///
/// Ownership: a record is valid until the next call of `next()`.
/// Errors:    with path and offset, and the number of the record in the file. After one, do not ask again.
class FileRecords {
 public:
  virtual ~FileRecords() = default;
  /// The next record, or nothing at the end of the file.
  virtual Result<std::optional<ByteView>> next() = 0;
  /// Of the record that `next()` was last asked for.
  virtual RecordPlace place() const = 0;
};

// Errors: the system's, where memory is short.
Result<std::unique_ptr<FileRecords>> read_tfrecords(SourceFile file, Compression compression,
                                                    std::uint32_t max_record_bytes);
Result<std::unique_ptr<FileRecords>> read_lines(SourceFile file, Compression compression,
                                                std::uint32_t max_record_bytes);

/// Reads a whole file as one record into `buffer`.
/// Errors: `record_too_large`; `file_changed` where its size is not the one that it was opened with.
Result<ByteView> read_whole(SourceFile file, std::uint32_t max_record_bytes, std::vector<std::byte>& buffer);

}  // namespace dovetail::detail
