// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <dovetail/mixing.h>
#include <dovetail/plan.h>

namespace dovetail::detail {

/// The ids of some steps: of each step the batches of some readers side by side.
struct SampledRows {
  std::uint64_t batch = 1;
  std::uint64_t readers = 1;
  std::vector<std::uint64_t> ids;

  std::uint64_t step_rows() const noexcept { return batch * readers; }
};

/// Takes the numbers of a `Mixing` from rows, whoever ordered them.
class MixingMeter {
 public:
  explicit MixingMeter(const DatasetShape& dataset);

  /// `other` is the whole of another epoch.
  Mixing measure(const SampledRows& rows, const std::optional<SampledRows>& other) const;

 private:
  /// The row in which each record comes first; `kNoId` where it does not come.
  std::vector<std::uint64_t> places(const SampledRows& rows) const;
  /// `width` is the rows of a batch.
  BatchMixing measure_batches(const SampledRows& rows, std::uint64_t width,
                              const std::vector<std::uint64_t>& other) const;

  std::uint64_t records_ = 0;
  std::vector<std::uint64_t> shard_begins_;  // ids, and the end of the last shard
  std::vector<std::uint64_t> slice_begins_;  // likewise
};

}  // namespace dovetail::detail
