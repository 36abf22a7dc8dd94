// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <dovetail/error.h>

namespace dovetail::detail {

/// Which source each row of a lane comes from under one set of weights: a sequence with a period of 65536 rows that
/// keeps every source within one row of its share at any place.
///
/// It is the schedule of unit jobs by earliest deadline, where job j of a source of weight w must be done in the rows
/// [floor(j * 65536 / w), ceil((j + 1) * 65536 / w)): the windows of Pfair scheduling (Baruah, Cohen, Plaxton, Varvel:
/// Proportionate progress, Algorithmica 15, 1996), which on one processor always fit.
///
/// Threads: const calls may run concurrently.
/// Cost:    256 KiB.
class MixTable {
 public:
  static constexpr std::uint32_t kPeriod = 65536;
  static constexpr std::size_t kMaxSources = 1024;

  /// Weights as given, scaled to a sum of `kPeriod`. Errors: `invalid_option` where they sum to nothing, or one that is
  /// above 0 would count for nothing.
  static Result<std::vector<std::uint32_t>> normalise(std::span<const std::uint32_t> weights);

  /// `weights` sum to `kPeriod`.
  explicit MixTable(std::vector<std::uint32_t> weights);

  std::uint32_t weight(std::uint32_t source) const noexcept { return weights_[source]; }
  const std::vector<std::uint32_t>& weights() const noexcept { return weights_; }
  std::uint32_t source_at(std::uint64_t row) const noexcept { return source_at_[row % kPeriod]; }
  /// Rows below `rows` that are the source's. Cost: a binary search.
  std::uint64_t count(std::uint32_t source, std::uint64_t rows) const noexcept;

 private:
  std::vector<std::uint32_t> weights_;
  std::vector<std::uint16_t> source_at_;
  std::vector<std::uint16_t> rows_of_;     // rows of source 0, ascending, then those of source 1, ...
  std::vector<std::uint32_t> rows_begin_;  // of each source in `rows_of_`
};

}  // namespace dovetail::detail
