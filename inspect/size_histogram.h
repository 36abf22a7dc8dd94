// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace dovetail::inspect {

/// Counts records by size: one bucket for empty ones, then one for each power of two.
class SizeHistogram {
 public:
  void add(std::uint64_t bytes, std::uint64_t records = 1);

  /// Records of `from` bytes up to `last` bytes, both included.
  struct Bucket {
    std::uint64_t from = 0;
    std::uint64_t last = 0;
    std::uint64_t records = 0;
  };
  /// The buckets from the first to the last that holds records. Buckets between them may be empty.
  std::vector<Bucket> buckets() const;
  std::uint64_t records() const noexcept { return records_; }
  /// Records in the fullest bucket.
  std::uint64_t most() const noexcept;

 private:
  std::array<std::uint64_t, 65> counts_{};
  std::uint64_t records_ = 0;
};

}  // namespace dovetail::inspect
