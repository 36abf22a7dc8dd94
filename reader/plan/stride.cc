// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/stride.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "reader/plan/wide_math.h"
#include "reader/plan/wide_vectors.h"

namespace dovetail::detail {
namespace {

// A smaller step, or one as near to the size, would leave neighbours close together.
constexpr std::uint64_t kLeastStep = 8;
constexpr std::uint64_t kLeastSize = 4 * kLeastStep;

/// The inverse of `value` modulo `size`. Needs: both coprime, the size above 1. (Knuth, TAOCP 2, 4.5.2.)
std::uint64_t invert(std::uint64_t value, std::uint64_t size) noexcept {
  std::uint64_t larger = size;
  std::uint64_t smaller = value % size;
  std::uint64_t of_larger = 0;  // modulo the size
  std::uint64_t of_smaller = 1;
  while (smaller > 1) {
    const std::uint64_t quotient = larger / smaller;
    larger = std::exchange(smaller, larger % smaller);
    const std::uint64_t taken = multiply_modulo(quotient, of_smaller, size);
    of_larger = std::exchange(of_smaller, of_larger >= taken ? of_larger - taken : of_larger + (size - taken));
  }
  return of_smaller;
}

}  // namespace

std::uint64_t stride_over(std::uint64_t size, std::uint64_t word) noexcept {
  if (size < 3) return size - 1;
  const std::uint64_t least = size >= kLeastSize ? kLeastStep : 1;
  std::uint64_t step = least + scale_below(word, size - 2 * least + 1);
  while (std::gcd(step, size) != 1) step = step == size - least ? least : step + 1;
  return step;
}

DOVETAIL_WIDE_VECTORS
void advance_strides(std::size_t count, std::uint32_t* __restrict at, const std::uint32_t* __restrict step,
                     const std::uint32_t* __restrict size) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    // Where nothing is to be taken off, the difference wraps and is the larger one.
    const std::uint32_t moved = at[i] + step[i];
    at[i] = std::min(moved, moved - size[i]);
  }
}

std::uint64_t Stride::at(std::uint64_t place) const noexcept {
  const std::uint64_t moved = multiply_modulo(place, step, size);
  return moved >= size - start ? moved - (size - start) : moved + start;
}

std::uint64_t Stride::place_of(std::uint64_t number) const noexcept {
  if (size == 1) return 0;
  const std::uint64_t moved = number >= start ? number - start : number + (size - start);
  return multiply_modulo(moved, invert(step, size), size);
}

std::uint64_t Stride::count_within(std::uint64_t first, std::uint64_t last, std::uint64_t from,
                                   std::uint64_t to) const noexcept {
  if (first >= last || from >= to) return 0;
  if (last - first == size) return to - from;
  if (to - from == size) return last - first;
  const auto count = [this](std::uint64_t number, std::uint64_t by, std::uint64_t steps, std::uint64_t begin,
                            std::uint64_t end) {
    std::uint64_t found = 0;
    for (; steps > 0; --steps) {
      if (number >= begin && number < end) ++found;
      number = number >= size - by ? number - (size - by) : number + by;
    }
    return found;
  };
  if (to - from <= last - first) return count(at(from), step, to - from, first, last);
  return count(place_of(first), invert(step, size), last - first, from, to);
}

}  // namespace dovetail::detail
