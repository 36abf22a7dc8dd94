// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "sources/bytes/byte_stream.h"
#include "sources/file_records.h"

namespace dovetail::detail {

/// Reads a stream of bytes in pieces of any length, with their place in the file.
///
/// Ownership: the result of `take` is valid until the next call.
/// Errors:    those of the stream.
/// Cost:      copies only pieces that span others; memory is bounded by the input, not by the
///            request.
class StreamReader {
 public:
  StreamReader(std::string path, std::unique_ptr<ByteStream> stream)
      : path_(std::move(path)), stream_(std::move(stream)) {}
  static Result<StreamReader> open(SourceFile file, Compression compression);

  /// The next `bytes` bytes, or as many as are left.
  Result<ByteView> take(std::uint64_t bytes);
  /// Skips forward; stops at the end.
  Result<void> skip(std::uint64_t bytes);

  const std::string& path() const noexcept { return path_; }
  /// Decoded bytes taken and skipped so far.
  std::uint64_t position() const noexcept { return position_; }
  /// Place of the next byte.
  RecordPlace place() const noexcept { return place_in(piece_, used_); }

 private:
  Result<bool> refill();
  ByteView rest() const noexcept { return piece_.bytes.subspan(used_); }

  std::string path_;
  std::unique_ptr<ByteStream> stream_;
  StreamPiece piece_;
  std::size_t used_ = 0;  // of the piece
  std::uint64_t position_ = 0;
  std::vector<std::byte> held_;
};

}  // namespace dovetail::detail
