// SPDX-License-Identifier: Apache-2.0
// Compiled with -march=armv8-a+crc. So this file includes no inline functions that other files
// share.
#include <arm_acle.h>

#include "format/crc32c/crc32c_backends.h"

namespace dovetail::format {

std::uint32_t crc32c_armv8(std::uint32_t state, const std::byte* data, std::size_t size) noexcept {
  for (; size >= 8; size -= 8, data += 8) {
    std::uint64_t word;
    __builtin_memcpy(&word, data, sizeof word);
    state = __crc32cd(state, word);
  }
  for (; size > 0; --size, ++data) state = __crc32cb(state, static_cast<unsigned char>(*data));
  return state;
}

}  // namespace dovetail::format
