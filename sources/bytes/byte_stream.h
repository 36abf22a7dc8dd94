// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/record_source.h>

#include "sources/bytes/source_file.h"

namespace dovetail::detail {

/// Size of one read from a file.
inline constexpr std::size_t kReadBytes = std::size_t{1} << 20;

/// Decoded bytes, and their place in the file.
struct StreamPiece {
  ByteView bytes;
  std::uint64_t input_begin = 0;
  std::uint64_t input_end = 0;
};

/// The decoded bytes of a file from its beginning to its end, in pieces that depend on the file's
/// bytes alone.
///
/// Ownership: a piece is valid until the next call.
/// Errors:    `truncated` and `decompression` for compressed files, and the system's; with path and
///            offset in the file.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// The next piece, which is not empty, or nothing at the end.
  virtual Result<std::optional<StreamPiece>> next() = 0;
  /// Skips up to `bytes`, if that is cheaper than reading them. Returns the number skipped.
  virtual Result<std::uint64_t> skip(std::uint64_t /*bytes*/) { return 0; }
};

/// Errors: the system's, if memory is short.
Result<std::unique_ptr<ByteStream>> make_byte_stream(SourceFile file, Compression compression);

}  // namespace dovetail::detail
