// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/stride.h"

#include <algorithm>
#include <numeric>

#include "reader/plan/wide_math.h"
#include "reader/plan/wide_vectors.h"

namespace dovetail::detail {
namespace {

// A smaller step, or one as close to the size, would give neighbouring records shortly after each
// other.
constexpr std::uint64_t kLeastStep = 8;
constexpr std::uint64_t kLeastSize = 4 * kLeastStep;

// This function is in the unnamed namespace, because the shared library would export it otherwise:
// `target_clones` versions are visible in spite of -fvisibility=hidden.
DOVETAIL_WIDE_VECTORS
void advance_each(std::size_t count, std::uint32_t* __restrict at, const std::uint32_t* __restrict step,
                  const std::uint32_t* __restrict size) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    // If the sum is below the size, the difference wraps and is the larger number.
    const std::uint32_t moved = at[i] + step[i];
    at[i] = std::min(moved, moved - size[i]);
  }
}

}  // namespace

std::uint64_t stride_over(std::uint64_t size, std::uint64_t word) noexcept {
  if (size < 3) return size - 1;
  const std::uint64_t least = size >= kLeastSize ? kLeastStep : 1;
  std::uint64_t step = least + scale_below(word, size - 2 * least + 1);
  while (std::gcd(step, size) != 1) step = step == size - least ? least : step + 1;
  return step;
}

void advance_strides(std::size_t count, std::uint32_t* __restrict at, const std::uint32_t* __restrict step,
                     const std::uint32_t* __restrict size) noexcept {
  advance_each(count, at, step, size);
}

std::uint64_t Stride::at(std::uint64_t place) const noexcept {
  const std::uint64_t moved = multiply_modulo(place, step, size);
  return moved >= size - start ? moved - (size - start) : moved + start;
}

}  // namespace dovetail::detail
