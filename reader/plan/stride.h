// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace dovetail::detail {

/// A number coprime to `size` and below it, chosen by a random word; 0 for a size of 1.
/// docs/order.md, "Draws". Needs: `size` above 0.
std::uint64_t stride_over(std::uint64_t size, std::uint64_t word) noexcept;

/// Adds to each of `count` numbers its step, modulo its size. Needs: each number is below its size,
/// each step at most its size.
void advance_strides(std::size_t count, std::uint32_t* __restrict at, const std::uint32_t* __restrict step,
                     const std::uint32_t* __restrict size) noexcept;

/// The numbers [0, size) in the order start, start + step, start + 2 * step, ..., modulo `size`.
///
/// Needs: `start` below `size`; `step` coprime to it, and below it unless both are 1.
struct Stride {
  std::uint64_t size = 1;
  std::uint64_t start = 0;
  std::uint64_t step = 1;

  /// The number at `place`, which is below `size`.
  std::uint64_t at(std::uint64_t place) const noexcept;
};

}  // namespace dovetail::detail
