// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace dovetail::detail {

constexpr std::size_t kCacheLine = 64;

#if defined(__SSE2__)

/// Copies whole lines to an aligned place, written past the caches where the processor can: the lines are neither read
/// first nor kept. `end_streaming` comes before anybody else is told of them.
inline void stream_lines(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  for (std::size_t at = 0; at < bytes; at += kCacheLine) {
    const auto* const in = reinterpret_cast<const __m128i*>(from + at);
    auto* const out = reinterpret_cast<__m128i*>(to + at);
    const __m128i a = _mm_loadu_si128(in);
    const __m128i b = _mm_loadu_si128(in + 1);
    const __m128i c = _mm_loadu_si128(in + 2);
    const __m128i d = _mm_loadu_si128(in + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
  }
}

inline void end_streaming() noexcept {
  _mm_sfence();
}

/// Whether the processor has stores of whole lines.
inline bool has_line_stores() noexcept {
  return __builtin_cpu_supports("avx512f") != 0;
}

/// The same as `stream_lines`, with one store for each line. Needs: `has_line_stores()`.
[[gnu::target("avx512f")]] inline void store_lines(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  for (std::size_t at = 0; at < bytes; at += kCacheLine) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_loadu_si512(from + at));
  }
}

#else

inline void stream_lines(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}
inline void end_streaming() noexcept {}
inline bool has_line_stores() noexcept {
  return false;
}
inline void store_lines(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  stream_lines(to, from, bytes);
}

#endif

/// Copies any bytes to any place: whole lines among them as `by_lines` does, what fills a line in part as usual.
inline void streaming_copy(std::byte* to, const std::byte* from, std::size_t bytes,
                           decltype(&stream_lines) by_lines = &stream_lines) noexcept {
  const std::size_t to_line = -reinterpret_cast<std::uintptr_t>(to) % kCacheLine;
  if (bytes < to_line + kCacheLine) {
    std::memcpy(to, from, bytes);
    return;
  }
  const std::size_t lines = (bytes - to_line) / kCacheLine * kCacheLine;
  if (to_line > 0) std::memcpy(to, from, to_line);
  by_lines(to + to_line, from + to_line, lines);
  if (to_line + lines < bytes) std::memcpy(to + to_line + lines, from + to_line + lines, bytes - to_line - lines);
}

}  // namespace dovetail::detail
