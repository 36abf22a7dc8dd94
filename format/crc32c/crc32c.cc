// SPDX-License-Identifier: Apache-2.0
#include "format/crc32c/crc32c.h"

#if defined(DOVETAIL_CRC32C_ARMV8)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "format/crc32c/crc32c_backends.h"

namespace dovetail::format {
namespace {

constexpr Crc32cBackend kPortable{"portable", crc32c_portable};

// The back end that uses the processor's CRC instruction.
#if defined(DOVETAIL_CRC32C_SSE42)
#define DOVETAIL_CRC32C_NATIVE
constexpr Crc32cBackend kNative{"sse4.2", crc32c_sse42};
bool native_usable() noexcept {
  return __builtin_cpu_supports("sse4.2") != 0;
}
#elif defined(DOVETAIL_CRC32C_ARMV8)
#define DOVETAIL_CRC32C_NATIVE
constexpr Crc32cBackend kNative{"armv8", crc32c_armv8};
bool native_usable() noexcept {
  return (::getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}
#endif

#if defined(DOVETAIL_CRC32C_ISAL)
constexpr Crc32cBackend kIsal{"isa-l", crc32c_isal};
#endif

Crc32cChoice choose() noexcept {
  Crc32cChoice choice{kPortable, kPortable};
#if defined(DOVETAIL_CRC32C_NATIVE)
  // Without the instruction, ISA-L takes one byte at a time, which is slower than the portable back
  // end.
  if (!native_usable()) return choice;
  choice = {kNative, kNative};
#endif
#if defined(DOVETAIL_CRC32C_ISAL)
  choice.large = kIsal;
#endif
  return choice;
}

}  // namespace

const Crc32cChoice& crc32c_choice() noexcept {
  static const Crc32cChoice choice = choose();
  return choice;
}

Crc32cBackends crc32c_usable_backends() noexcept {
  Crc32cBackends all;
  all.items[all.count++] = kPortable;
#if defined(DOVETAIL_CRC32C_NATIVE)
  if (native_usable()) all.items[all.count++] = kNative;
#endif
#if defined(DOVETAIL_CRC32C_ISAL)
  all.items[all.count++] = kIsal;
#endif
  return all;
}

std::uint32_t crc32c(ByteView bytes, std::uint32_t before) noexcept {
  const Crc32cChoice& choice = crc32c_choice();
  const Crc32cBackend& backend = bytes.size() < kCrc32cLargeBytes ? choice.small : choice.large;
  return ~backend.update(~before, bytes.data(), bytes.size());
}

}  // namespace dovetail::format
