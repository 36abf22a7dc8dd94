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

/// Copies the hashes whose rest behind their first bits is less than `bound`. `rest` is a mask of
/// these bits. Returns how many. Needs: a count of whole groups.
template <class Hash>
[[gnu::always_inline]] inline std::size_t copy_below(const Hash* hashes, std::size_t count, Hash rest, Hash bound,
                                                     Hash* rare) noexcept {
  std::size_t copied = 0;
  for (std::size_t group = 0; group < count; group += kGroup) {
    Hash least = rest;
    for (std::size_t i = 0; i < kGroup; ++i) least = std::min(least, hashes[group + i] & rest);
    if (least >= bound) [[likely]]
      continue;
    for (std::size_t i = 0; i < kGroup; ++i) {
      rare[copied] = hashes[group + i];
      copied += static_cast<std::size_t>((hashes[group + i] & rest) < bound);
    }
  }
  return copied;
}

DOVETAIL_WIDE_VECTORS
std::size_t copy_rare(const std::uint64_t* hashes, std::size_t count, std::uint64_t rest, std::uint64_t bound,
                      std::uint64_t* rare) noexcept {
  return copy_below(hashes, count, rest, bound, rare);
}

DOVETAIL_WIDE_VECTORS
std::size_t copy_rare(const std::uint32_t* hashes, std::size_t count, std::uint32_t rest, std::uint32_t bound,
                      std::uint32_t* rare) noexcept {
  return copy_below(hashes, count, rest, bound, rare);
}

DOVETAIL_WIDE_VECTORS
void write_halves(const float* values, std::size_t count, std::uint32_t* halves) noexcept {
  for (std::size_t i = 0; i < count; ++i) halves[i] = first_half_of_hash(values[i]);
}

DOVETAIL_WIDE_VECTORS
unsigned least_of(const std::uint8_t* registers, std::size_t count) noexcept {
  std::uint8_t least = 0xFF;
  for (std::size_t i = 0; i < count; ++i) least = std::min(least, registers[i]);
  return least;
}

}  // namespace

void HyperLogLog::expect(std::size_t hashes) noexcept {
  if (until_floor_ <= hashes) {
    floor_ = least_of(registers_.data(), registers_.size());
    until_floor_ = kFloorAfter;
  }
  until_floor_ -= std::min<std::uint64_t>(until_floor_, hashes);
}

void HyperLogLog::add(std::span<const std::uint64_t> hashes) noexcept {
  expect(hashes.size());
  std::array<std::uint64_t, kAtOnce> rare;
  const std::uint64_t rest = ~std::uint64_t{0} >> precision_;
  // A rank above the floor has at least `floor_` leading zeros.
  const std::uint64_t bound = (rest >> floor_) + 1;
  while (!hashes.empty()) {
    const auto some = hashes.first(std::min(hashes.size(), kAtOnce));
    hashes = hashes.subspan(some.size());
    const std::size_t groups = floor_ > 0 ? some.size() / kGroup * kGroup : 0;
    const std::size_t count = copy_rare(some.data(), groups, rest, bound, rare.data());
    for (const std::uint64_t hash : std::span(rare).first(count)) add(hash);
    for (const std::uint64_t hash : some.subspan(groups)) add(hash);
  }
}

void HyperLogLog::add(std::span<const float> values) noexcept {
  expect(values.size());
  std::array<std::uint32_t, kAtOnce> halves;
  std::array<std::uint32_t, kAtOnce> rare;
  const std::uint32_t rest = ~std::uint32_t{0} >> precision_;
  const std::uint32_t bound = (rest >> std::min(floor_, 31U)) + 1;
  // Mostly the first half decides.
  const auto add_half = [&](std::uint32_t half) {
    add((half & rest) != 0 ? std::uint64_t{half} << 32 : hash_of_half(half));
  };
  while (!values.empty()) {
    const auto some = values.first(std::min(values.size(), kAtOnce));
    values = values.subspan(some.size());
    write_halves(some.data(), some.size(), halves.data());
    const std::size_t groups = floor_ > 0 ? some.size() / kGroup * kGroup : 0;
    const std::size_t count = copy_rare(halves.data(), groups, rest, bound, rare.data());
    for (const std::uint32_t half : std::span(rare).first(count)) add_half(half);
    for (const std::uint32_t half : std::span(halves).first(some.size()).subspan(groups)) add_half(half);
  }
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
