// SPDX-License-Identifier: Apache-2.0
#include "reader/features/hyper_log_log.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "reader/features/value_hash.h"
#include "reader/plan/wide_vectors.h"

namespace dovetail::detail {
namespace {

constexpr std::size_t kGroup = 32;
constexpr std::size_t kAtOnce = 512;  // hashes; whole groups

// The functions sigma and tau of Ertl's algorithm 6. Both series end when a further term no longer
// changes the double.
double sigma(double x) noexcept {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double y = 1;
  double z = x;
  for (double before = -1; z != before;) {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  }
  return z;
}

double tau(double x) noexcept {
  if (x == 0 || x == 1) return 0;
  double y = 1;
  double z = 1 - x;
  for (double before = -1; z != before;) {
    x = std::sqrt(x);
    before = z;
    y *= 0.5;
    z -= (1 - x) * (1 - x) * y;
  }
  return z / 3;
}

/// Copies the hashes whose rest behind their first bits is less than `bound`. Returns how many.
/// Needs: a count of whole groups.
DOVETAIL_WIDE_VECTORS
std::size_t copy_rare(const std::uint64_t* hashes, std::size_t count, unsigned first_bits, std::uint64_t bound,
                      std::uint64_t* rare) noexcept {
  std::size_t copied = 0;
  for (std::size_t group = 0; group < count; group += kGroup) {
    std::uint64_t least = ~std::uint64_t{0};
    for (std::size_t i = 0; i < kGroup; ++i) least = std::min(least, hashes[group + i] << first_bits);
    if (least >= bound) [[likely]]
      continue;
    for (std::size_t i = 0; i < kGroup; ++i) {
      rare[copied] = hashes[group + i];
      copied += static_cast<std::size_t>(hashes[group + i] << first_bits < bound);
    }
  }
  return copied;
}

/// The same with the first halves of the hashes of floats. `rest` is a mask of the bits behind the
/// first ones.
DOVETAIL_WIDE_VECTORS
std::size_t copy_rare_halves(const float* values, std::size_t count, std::uint32_t rest, std::uint32_t bound,
                             std::uint32_t* rare) noexcept {
  std::array<std::uint32_t, kGroup> halves;
  std::size_t copied = 0;
  for (std::size_t group = 0; group < count; group += kGroup) {
    std::uint32_t least = ~std::uint32_t{0};
    for (std::size_t i = 0; i < kGroup; ++i) {
      halves[i] = first_half_of_hash(values[group + i]);
      least = std::min(least, halves[i] & rest);
    }
    if (least >= bound) [[likely]]
      continue;
    for (const std::uint32_t half : halves) {
      rare[copied] = half;
      copied += static_cast<std::size_t>((half & rest) < bound);
    }
  }
  return copied;
}

}  // namespace

void HyperLogLog::expect(std::size_t hashes) noexcept {
  if (until_floor_ <= hashes) {
    floor_ = *std::min_element(registers_.begin(), registers_.end());
    until_floor_ = kFloorAfter;
  }
  until_floor_ -= std::min<std::uint64_t>(until_floor_, hashes);
}

void HyperLogLog::add(std::span<const std::uint64_t> hashes) noexcept {
  expect(hashes.size());
  std::array<std::uint64_t, kAtOnce> rare;
  // A rank above the floor has at least `floor_` leading zeros.
  const std::uint64_t bound = std::uint64_t{1} << (64 - std::max(floor_, 1U));
  while (floor_ > 0 && hashes.size() >= kGroup) {
    const auto some = hashes.first(std::min(hashes.size() / kGroup * kGroup, kAtOnce));
    hashes = hashes.subspan(some.size());
    const std::size_t count = copy_rare(some.data(), some.size(), precision_, bound, rare.data());
    for (const std::uint64_t hash : std::span(rare).first(count)) add(hash);
  }
  for (const std::uint64_t hash : hashes) add(hash);
}

void HyperLogLog::add(std::span<const float> values) noexcept {
  expect(values.size());
  std::array<std::uint32_t, kAtOnce> rare;
  const unsigned rest_bits = 32 - precision_;  // of a first half
  const std::uint32_t rest = (std::uint32_t{1} << rest_bits) - 1;
  const std::uint32_t bound = std::uint32_t{1} << (rest_bits - std::min(floor_, rest_bits));
  while (values.size() >= kGroup) {
    const auto some = values.first(std::min(values.size() / kGroup * kGroup, kAtOnce));
    values = values.subspan(some.size());
    const std::size_t count = copy_rare_halves(some.data(), some.size(), rest, bound, rare.data());
    for (const std::uint32_t half : std::span(rare).first(count)) {
      // Mostly the first half decides.
      add((half & rest) != 0 ? std::uint64_t{half} << 32 : hash_of_half(half));
    }
  }
  for (const float value : values) add(hash_of(value));
}

double HyperLogLog::standard_error() const noexcept {
  return 1.04 / std::sqrt(static_cast<double>(registers_.size()));
}

void HyperLogLog::make_coarser(unsigned precision) {
  while (precision_ > precision) {
    // The lowest bit of the register's number becomes the first bit of the rest, whose leading
    // zeros count.
    for (std::size_t i = 0; i < registers_.size() / 2; ++i) {
      const std::uint8_t even = registers_[2 * i];
      const std::uint8_t odd = registers_[2 * i + 1];
      registers_[i] = std::max<std::uint8_t>(even == 0 ? 0 : static_cast<std::uint8_t>(even + 1), odd == 0 ? 0 : 1);
    }
    registers_.resize(registers_.size() / 2);
    --precision_;
    floor_ = 0;
  }
  registers_.shrink_to_fit();
}

void HyperLogLog::merge(HyperLogLog other) {
  const unsigned precision = std::min(precision_, other.precision_);
  make_coarser(precision);
  other.make_coarser(precision);
  for (std::size_t i = 0; i < registers_.size(); ++i) registers_[i] = std::max(registers_[i], other.registers_[i]);
}

double HyperLogLog::estimate() const noexcept {
  const auto registers = static_cast<double>(registers_.size());
  std::array<double, 66> with_rank{};
  for (const std::uint8_t rank : registers_) ++with_rank[rank];
  const std::size_t bits = 64 - precision_;
  double z = registers * tau(1 - with_rank[bits + 1] / registers);
  for (std::size_t rank = bits; rank >= 1; --rank) z = 0.5 * (z + with_rank[rank]);
  z += registers * sigma(with_rank[0] / registers);
  return registers * registers / (2 * std::log(2.0) * z);
}

}  // namespace dovetail::detail
