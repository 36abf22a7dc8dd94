// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <dovetail/mixing.h>
#include <dovetail/plan.h>

namespace dovetail::detail {

/// The ids of some steps: for each step, the batches of some readers side by side.
struct SampledRows {
  std::uint64_t batch = 1;
  std::uint64_t readers = 1;
  std::vector<std::uint64_t> ids;

  std::uint64_t step_rows() const noexcept { return batch * readers; }
};

/// Computes a `Mixing` from the ids of rows in any order.
class MixingMeter {
 public:
  explicit MixingMeter(const DatasetShape& dataset);

  /// `other` holds all rows of another epoch.
  Mixing measure(const SampledRows& rows, const std::optional<SampledRows>& other) const;

 private:
  /// For each record, the first row that holds it; `kNoId` if no row does.
  std::vector<std::uint64_t> places(const SampledRows& rows) const;
  /// `width` is the number of rows of a batch.
  BatchMixing measure_batches(const SampledRows& rows, std::uint64_t width,
                              const std::vector<std::uint64_t>& other) const;

  std::uint64_t records_ = 0;
  std::vector<std::uint64_t> shard_begins_;  // first id of each shard, then the number of records
  std::vector<std::uint64_t> slice_begins_;  // likewise for slices
};

}  // namespace dovetail::detail
