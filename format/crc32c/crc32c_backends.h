// SPDX-License-Identifier: Apache-2.0
// The implementations behind crc32c.h, each in a file of its own. Only plain types here: one of them is compiled for a
// newer processor than the rest, and must not leave such code in inline functions that others share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dovetail::format {

/// Continues the raw CRC register over `size` bytes; no inversion at either end.
using Crc32cUpdate = std::uint32_t(std::uint32_t state, const std::byte* data, std::size_t size) noexcept;

/// Any processor: eight tables, eight bytes at a time.
Crc32cUpdate crc32c_portable;
/// x86-64 with SSE4.2: one instruction per eight bytes; best where setting up more costs more than it saves.
Crc32cUpdate crc32c_sse42;
/// Arm with the CRC32 extension, which every server's has: the same.
Crc32cUpdate crc32c_armv8;
/// ISA-L, which chooses among its own versions for this processor; best for long inputs.
Crc32cUpdate crc32c_isal;

/// A back end that is compiled in and that this processor can run.
struct Crc32cBackend {
  const char* name = nullptr;
  Crc32cUpdate* update = nullptr;
};

/// The back ends to use on this processor, short inputs and long ones.
struct Crc32cChoice {
  Crc32cBackend small;  ///< Below `kCrc32cLargeBytes`.
  Crc32cBackend large;
};
inline constexpr std::size_t kCrc32cLargeBytes = 256;
const Crc32cChoice& crc32c_choice() noexcept;

/// Every back end that can be used here, for tests that compare them.
struct Crc32cBackends {
  Crc32cBackend items[3];
  std::size_t count = 0;
};
Crc32cBackends crc32c_usable_backends() noexcept;

}  // namespace dovetail::format
