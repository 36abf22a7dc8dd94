// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#if defined(__SANITIZE_ADDRESS__)
#define DOVETAIL_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DOVETAIL_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(DOVETAIL_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

namespace dovetail::detail {

/// Whether released memory is overwritten, so that a trainer that still reads it notices. Only in
/// builds with assertions.
#ifdef NDEBUG
inline constexpr bool kPoisons = false;
#else
inline constexpr bool kPoisons = true;
#endif
inline constexpr std::byte kPoison{0xDB};

/// Makes free memory useless. AddressSanitizer also reports accesses to it.
inline void poison([[maybe_unused]] std::span<std::byte> bytes) noexcept {
  if constexpr (kPoisons) std::memset(bytes.data(), static_cast<int>(kPoison), bytes.size());
#if defined(DOVETAIL_ADDRESS_SANITIZER)
  __asan_poison_memory_region(bytes.data(), bytes.size());
#endif
}

/// Allows accesses again.
inline void unpoison([[maybe_unused]] std::span<std::byte> bytes) noexcept {
#if defined(DOVETAIL_ADDRESS_SANITIZER)
  __asan_unpoison_memory_region(bytes.data(), bytes.size());
#endif
}

}  // namespace dovetail::detail
