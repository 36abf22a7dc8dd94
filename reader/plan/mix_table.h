// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <dovetail/error.h>

namespace dovetail::detail {

/// Maps each row of a lane to its source, under one set of weights. The map has a period of 65536
/// rows and keeps every source within one row of its share at any row.
///
/// It is the earliest-deadline-first schedule of unit jobs. Job j of a source of weight w must be
/// done in the rows [floor(j * 65536 / w), ceil((j + 1) * 65536 / w)). These are the windows of
/// Pfair scheduling (Baruah, Cohen, Plaxton, Varvel: Proportionate progress, Algorithmica 15,
/// 1996), which are always feasible on one processor.
///
/// Threads: const calls may run concurrently.
/// Cost:    256 KiB.
class MixTable {
 public:
  static constexpr std::uint32_t kPeriod = 65536;
  static constexpr std::size_t kMaxSources = 1024;

  /// The given weights, scaled to a sum of `kPeriod`. Errors: `invalid_option` if all weights are
  /// 0, or if a weight above 0 would be scaled to 0.
  static Result<std::vector<std::uint32_t>> normalise(std::span<const std::uint32_t> weights);

  /// Needs: `weights` sum to `kPeriod`.
  explicit MixTable(std::vector<std::uint32_t> weights);

  std::uint32_t weight(std::uint32_t source) const noexcept { return weights_[source]; }
  const std::vector<std::uint32_t>& weights() const noexcept { return weights_; }
  std::uint32_t source_at(std::uint64_t row) const noexcept { return source_at_[row % kPeriod]; }
  /// The number of rows in [0, `rows`) that come from the source. Cost: a binary search.
  std::uint64_t count(std::uint32_t source, std::uint64_t rows) const noexcept;

 private:
  std::vector<std::uint32_t> weights_;
  std::vector<std::uint16_t> source_at_;
  std::vector<std::uint16_t> rows_of_;     // rows of source 0, ascending, then those of source 1, ...
  std::vector<std::uint32_t> rows_begin_;  // where the rows of each source begin in `rows_of_`
};

}  // namespace dovetail::detail
