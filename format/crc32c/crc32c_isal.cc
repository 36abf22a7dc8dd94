// SPDX-License-Identifier: Apache-2.0
#include <isa-l/crc.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "format/crc32c/crc32c_backends.h"

namespace dovetail::format {
namespace {

#if defined(__x86_64__)
// ISA-L's versions for AVX and AVX-512 return without `vzeroupper`. On Intel's processors every SSE
// instruction that follows then waits for the register it overwrites: Snappy's took 1.3 times as
// long. (Intel 64 and IA-32 Architectures Optimization Reference Manual, "Mixing AVX code with SSE
// code".)
__attribute__((target("avx"))) void clear_upper_halves() noexcept {
  _mm256_zeroupper();
}
#endif

}  // namespace

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
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx") != 0) clear_upper_halves();
#endif
  return state;
}

}  // namespace dovetail::format
