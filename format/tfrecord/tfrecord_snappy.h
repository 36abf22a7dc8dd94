// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <dovetail/bytes.h>

namespace dovetail::format {

/// Maximum raw bytes of a block. TensorFlow reads blocks of up to 262,144 bytes, raw and
/// compressed. Incompressible data of this size stays below that limit.
inline constexpr std::size_t kTfrecordSnappyBlock = 192 * 1024;

/// TensorFlow's own Snappy stream, which differs from Snappy's framing format: blocks of one raw
/// Snappy stream each, behind their 32-bit big-endian length. Does no I/O.
///
/// Threads: none.
/// Cost:    memory for one block.
class TfrecordSnappyEncoder {
 public:
  /// Takes the next bytes. Appends the completed blocks to `out`.
  void add(ByteView bytes, std::vector<std::byte>& out);
  /// Appends the last block.
  void finish(std::vector<std::byte>& out);

 private:
  std::vector<std::byte> block_;
};

}  // namespace dovetail::format
