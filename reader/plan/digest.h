// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <dovetail/identity.h>

namespace dovetail::detail {

/// Sums `record_digest` over ranges of ids without hashing every id. docs/order.md, "Digest".
///
/// Cost: at most 65536 hashes and 1 MiB at construction; then one hash per 65536 ids.
class DigestSums {
 public:
  /// Covers the ids [0, `ids`).
  explicit DigestSums(std::uint64_t ids);
  /// The sum modulo 2^128 over the ids [first, first + count), all below `ids`.
  Hash128 over(std::uint64_t first, std::uint64_t count) const noexcept;

 private:
  std::vector<Hash128> low_sums_;  // [i]: sum of the hashes of all low parts below i
};

}  // namespace dovetail::detail
