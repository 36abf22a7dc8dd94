// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/digest.h"

#include <algorithm>

#include <dovetail/plan.h>

#include "reader/plan/philox.h"
#include "reader/plan/wide_math.h"

namespace dovetail {
namespace {

constexpr std::uint32_t kDigestKey = 0x44564454;  // "DVDT"
constexpr std::uint32_t kHighPart = 1;
constexpr std::uint32_t kLowPart = 2;
constexpr std::uint64_t kLowIds = 65536;

/// The result is odd, so multiplying by it modulo 2^128 is reversible.
Hash128 odd_hash(std::uint64_t value, std::uint32_t part) noexcept {
  const auto block = detail::philox({detail::low_word(value), detail::high_word(value), 0, 0}, {kDigestKey, part});
  return {detail::block_word(block, 1), detail::block_word(block, 0) | 1};
}

}  // namespace

Hash128 record_digest(std::uint64_t id) noexcept {
  return detail::multiply(odd_hash(id / kLowIds, kHighPart), odd_hash(id % kLowIds, kLowPart));
}

namespace detail {

DigestSums::DigestSums(std::uint64_t ids) {
  const std::uint64_t low_ids = std::min(ids, kLowIds);
  low_sums_.reserve(static_cast<std::size_t>(low_ids + 1));
  low_sums_.push_back({});
  for (std::uint64_t low = 0; low < low_ids; ++low) low_sums_.push_back(low_sums_.back() + odd_hash(low, kLowPart));
}

Hash128 DigestSums::over(std::uint64_t first, std::uint64_t count) const noexcept {
  Hash128 sum;
  while (count != 0) {
    const std::uint64_t low = first % kLowIds;
    const std::uint64_t part = std::min(count, kLowIds - low);
    sum += multiply(odd_hash(first / kLowIds, kHighPart), low_sums_[low + part] - low_sums_[low]);
    first += part;
    count -= part;
  }
  return sum;
}

}  // namespace detail
}  // namespace dovetail
