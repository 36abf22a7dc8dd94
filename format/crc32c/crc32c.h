// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dovetail/bytes.h>

namespace dovetail::format {

/// CRC32C (Castagnoli, reflected polynomial 0x82F63B78, initial value and final xor 0xFFFFFFFF) of
/// `bytes`, continued from the CRC of the bytes before them.
///
/// Source:  RFC 3720, section B.4. `crc32c("123456789")` is 0xE3069283.
/// Threads: any.
/// Cost:    the fastest of the back ends that this processor runs, chosen once.
std::uint32_t crc32c(ByteView bytes, std::uint32_t before = 0) noexcept;

/// Masks a CRC that is stored inside data that is itself checked by CRC, as TFRecord does.
constexpr std::uint32_t mask_crc(std::uint32_t crc) noexcept {
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}
constexpr std::uint32_t unmask_crc(std::uint32_t masked) noexcept {
  const std::uint32_t rotated = masked - 0xA282EAD8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace dovetail::format
