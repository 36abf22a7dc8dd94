// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/record_source.h>

namespace dovetail::detail {

/// Decodes gzip (any number of members, one after the other) or one zlib stream, piece by piece: bytes in, bytes out.
///
/// Threads: none.
/// Errors:  `decompression` where the bytes are not what the format demands, bytes after its end included. Final.
/// Cost:    about 40 KiB, whatever the input claims.
class Inflater {
 public:
  /// Needs: gzip or zlib. Errors: the system's, where memory is short.
  static Result<Inflater> make(Compression compression);

  Inflater(Inflater&&) noexcept;
  Inflater& operator=(Inflater&&) noexcept;
  ~Inflater();

  /// Decodes until `in` is used up or `out` is full; both are moved past what was done.
  Result<void> run(ByteView& in, std::span<std::byte>& out);
  /// Whether the input may end here.
  bool at_end() const noexcept { return at_end_; }

 private:
  struct Stream;
  Inflater(std::unique_ptr<Stream> stream, Compression compression);

  std::unique_ptr<Stream> stream_;  // zlib keeps its address
  Compression compression_;
  bool at_end_ = false;
};

}  // namespace dovetail::detail
