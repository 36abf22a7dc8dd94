// SPDX-License-Identifier: Apache-2.0
#include "reader/features/hyper_log_log.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "reader/plan/wide_vectors.h"

namespace dovetail::detail {
namespace {

constexpr std::size_t kGroup = 16;

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

/// Returns the number of the first group of `kGroup` hashes, from `group` on, with a hash whose rest
/// behind its first bits is less than `bound`. Returns `groups` if there is none.
DOVETAIL_WIDE_VECTORS
std::size_t next_group_below(const std::uint64_t* hashes, std::size_t group, std::size_t groups, unsigned first_bits,
                             std::uint64_t bound) noexcept {
  for (; group < groups; ++group) {
    std::uint64_t least = ~std::uint64_t{0};
    for (std::size_t i = 0; i < kGroup; ++i) least = std::min(least, hashes[group * kGroup + i] << first_bits);
    if (least < bound) break;
  }
  return group;
}

}  // namespace

void HyperLogLog::add(std::span<const std::uint64_t> hashes) noexcept {
  if (until_floor_ <= hashes.size()) {
    floor_ = *std::min_element(registers_.begin(), registers_.end());
    until_floor_ = kFloorAfter;
  }
  until_floor_ -= std::min<std::uint64_t>(until_floor_, hashes.size());
  if (floor_ == 0) {
    for (const std::uint64_t hash : hashes) add(hash);
    return;
  }
  // A rank above the floor has at least `floor_` leading zeros.
  const std::uint64_t bound = std::uint64_t{1} << (64 - floor_);
  const std::size_t groups = hashes.size() / kGroup;
  const auto next = [&](std::size_t group) {
    return next_group_below(hashes.data(), group, groups, precision_, bound);
  };
  for (std::size_t group = next(0); group < groups; group = next(group + 1)) {
    for (const std::uint64_t hash : hashes.subspan(group * kGroup, kGroup)) add(hash);
  }
  for (const std::uint64_t hash : hashes.subspan(groups * kGroup)) add(hash);
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
