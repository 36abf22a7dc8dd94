// SPDX-License-Identifier: Apache-2.0
// Compiled with -msse4.2. So this file includes no inline functions that other files share.
#include <nmmintrin.h>

#include "format/crc32c/crc32c_backends.h"

namespace dovetail::format {

std::uint32_t crc32c_sse42(std::uint32_t state, const std::byte* data, std::size_t size) noexcept {
  std::uint64_t wide = state;
  for (; size >= 8; size -= 8, data += 8) {
    std::uint64_t word;
    __builtin_memcpy(&word, data, sizeof word);
    wide = _mm_crc32_u64(wide, word);
  }
  state = static_cast<std::uint32_t>(wide);
  for (; size > 0; --size, ++data) state = _mm_crc32_u8(state, static_cast<unsigned char>(*data));
  return state;
}

}  // namespace dovetail::format
