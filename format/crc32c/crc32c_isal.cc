// SPDX-License-Identifier: Apache-2.0
#include <isa-l/crc.h>

#include "format/crc32c/crc32c_backends.h"

namespace dovetail::format {

std::uint32_t crc32c_isal(std::uint32_t state, const std::byte* data, std::size_t size) noexcept {
  constexpr std::size_t kPiece = std::size_t{1} << 30;  // `crc32_iscsi` takes the length as an int
  // `crc32_iscsi` takes a pointer to non-const, but only reads.
  auto* bytes = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(data));
  while (size > 0) {
    const std::size_t piece = size < kPiece ? size : kPiece;
    state = crc32_iscsi(bytes, static_cast<int>(piece), state);
    bytes += piece;
    size -= piece;
  }
  return state;
}

}  // namespace dovetail::format
