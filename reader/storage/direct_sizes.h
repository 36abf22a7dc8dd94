// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

namespace dovetail::detail {

inline constexpr std::size_t kLargestDirectPiece = 256 << 10;
inline constexpr std::size_t kSmallestDirectPiece = 64 << 10;
// Room to align the begin and the end of a read, so that a whole piece fits one buffer.
inline constexpr std::size_t kDirectSlack = 8 << 10;
// With a small budget, pieces get smaller before there are fewer buffers than this.
inline constexpr std::size_t kEnoughInFlight = 16;

/// Divides a memory budget into the buffers of direct reads, of which at most `depth` are in
/// flight.
struct DirectSizes {
  std::size_t piece = kLargestDirectPiece;
  std::size_t count = 0;

  DirectSizes(std::size_t memory, unsigned depth) noexcept {
    const auto fitting = [&] { return std::min<std::size_t>(memory / (piece + kDirectSlack), depth); };
    while (piece > kSmallestDirectPiece && fitting() < std::min<std::size_t>(depth, kEnoughInFlight)) piece /= 2;
    count = fitting();
  }
};

}  // namespace dovetail::detail
