// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <dovetail/bytes.h>

namespace dovetail::format {

/// Raw bytes of a block at most. TensorFlow reads blocks of up to 262,144 bytes, raw and compressed; so many are below
/// that even where nothing can be saved.
inline constexpr std::size_t kTfrecordSnappyBlock = 192 * 1024;

/// TensorFlow's own Snappy stream, which is not Snappy's framing format: blocks of one raw Snappy stream each, behind
/// their length as 32 bits, highest byte first. Bytes in, bytes out, no I/O.
///
/// Threads: none.
/// Cost:    memory for one block.
class TfrecordSnappyEncoder {
 public:
  /// Takes the bytes that follow; appends to `out` what is complete of the stream.
  void add(ByteView bytes, std::vector<std::byte>& out);
  /// Appends the rest.
  void finish(std::vector<std::byte>& out);

 private:
  std::vector<std::byte> block_;
};

}  // namespace dovetail::format
