// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/source_options.h>

namespace dovetail::detail {

/// The largest window that a file of xz or Zstandard may claim.
inline constexpr std::uint64_t kMaxWindowBytes = std::uint64_t{128} << 20;

/// Decodes a file that is compressed as a whole, piece by piece: bytes in, bytes out.
///
/// Threads: none.
/// Errors:  `decompression` if the bytes violate the format. Final.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Decodes until `out` is full or all of `in` is used. Advances both.
  virtual Result<void> run(ByteView& in, std::span<std::byte>& out) = 0;
  /// Whether the input may end here.
  virtual bool at_end() const noexcept = 0;
};

/// Gzip, bzip2, xz and Zstandard in any number of consecutive members (streams, frames); a single
/// zlib stream; TensorFlow's Snappy. Data after a member that is not another member is an error. So
/// is a wrong or unknown checksum.
///
/// Needs:  a compression, not `none`.
/// Errors: the system's, if memory is short.
/// Cost:   40 KiB for gzip and zlib, 4 MiB for bzip2; for xz and Zstandard the window that the file
///         claims, at most `kMaxWindowBytes`: a larger claim is an error.
Result<std::unique_ptr<Decoder>> make_decoder(Compression compression);

}  // namespace dovetail::detail
