// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/source_options.h>

namespace dovetail::detail {

/// Decodes a file that is compressed as a whole, piece by piece: bytes in, bytes out.
///
/// Threads: none.
/// Errors:  `decompression` where the bytes are not what the format demands. Final.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Decodes until `out` is full or nothing more can be made of `in`, which then is empty; both are moved past what was
  /// done.
  virtual Result<void> run(ByteView& in, std::span<std::byte>& out) = 0;
  /// Whether the input may end here.
  virtual bool at_end() const noexcept = 0;
};

/// Gzip, bzip2, xz and Zstandard in any number of members (streams, frames) one after the other; a single zlib stream;
/// TensorFlow's Snappy. What follows a member and is none is an error, and so is a checksum that is wrong or unknown.
///
/// Needs:  a compression, not `none`.
/// Errors: the system's, where memory is short.
/// Cost:   40 KiB for gzip and zlib, 4 MiB for bzip2; for xz and Zstandard the window that the file claims, at most
///         128 MiB: a larger claim is an error.
Result<std::unique_ptr<Decoder>> make_decoder(Compression compression);

}  // namespace dovetail::detail
