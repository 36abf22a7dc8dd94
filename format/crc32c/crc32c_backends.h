// SPDX-License-Identifier: Apache-2.0
// The implementations behind crc32c.h, each in its own file. This header uses plain types only:
// some of these files are compiled for newer processors, and must not emit such code for inline
// functions that other files share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dovetail::format {

/// Continues the raw CRC register over `size` bytes; no inversion at either end.
using Crc32cUpdate = std::uint32_t(std::uint32_t state, const std::byte* data, std::size_t size) noexcept;

/// For any processor: eight bytes at a time, by eight tables.
Crc32cUpdate crc32c_portable;
/// For x86-64 with SSE4.2: one instruction per eight bytes. Best for short inputs, where a longer
/// set-up costs more than it saves.
Crc32cUpdate crc32c_sse42;
/// For Arm with the CRC32 extension, which every server has: one instruction per eight bytes.
Crc32cUpdate crc32c_armv8;
/// ISA-L, which chooses its version for this processor. Best for long inputs.
Crc32cUpdate crc32c_isal;

/// A back end that is compiled in and that this processor can run.
struct Crc32cBackend {
  const char* name = nullptr;
  Crc32cUpdate* update = nullptr;
};

/// The back ends for this processor, for short inputs and for long ones.
struct Crc32cChoice {
  Crc32cBackend small;  ///< Below `kCrc32cLargeBytes`.
  Crc32cBackend large;
};
inline constexpr std::size_t kCrc32cLargeBytes = 256;
const Crc32cChoice& crc32c_choice() noexcept;

/// Every back end that this processor can run. Tests compare them.
struct Crc32cBackends {
  Crc32cBackend items[3];
  std::size_t count = 0;
};
Crc32cBackends crc32c_usable_backends() noexcept;

}  // namespace dovetail::format
