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

/// Reads a stream of bytes in runs of any length, and knows where in the file they lie.
///
/// Ownership: what `take` gives is valid until the next call.
/// Errors:    those of the stream.
/// Cost:      copies only what spans pieces; memory never for more than there is, whatever is asked for.
class StreamReader {
 public:
  StreamReader(std::string path, std::unique_ptr<ByteStream> stream)
      : path_(std::move(path)), stream_(std::move(stream)) {}
  static Result<StreamReader> open(SourceFile file, Compression compression);

  /// The next `bytes` bytes, or as many as are left.
  Result<ByteView> take(std::uint64_t bytes);
  /// Goes forward without looking; beyond the end is the end.
  Result<void> skip(std::uint64_t bytes);

  const std::string& path() const noexcept { return path_; }
  /// Decoded bytes taken and skipped so far.
  std::uint64_t position() const noexcept { return position_; }
  /// Of the byte that comes next.
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
