// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <dovetail/plan.h>

namespace dovetail::detail {

/// Bounds of a sample.
struct SampleLimits {
  std::uint64_t rows = 0;                    ///< The most rows to sample.
  std::uint64_t bins = 1;                    ///< Of steps. At most this many bins.
  std::optional<std::uint32_t> reader = {};  ///< If set, sample this reader only.
  bool all_readers = false;                  ///< More readers rather than more steps of each.
};

/// An even sample of the batches of an epoch's present phase. The steps are cut into bins of equal
/// length. In the middle of each bin some consecutive steps are sampled, the same steps for readers
/// at even distances. If all batches fit the limits, the sample is complete.
class BatchSample {
 public:
  /// The sampled steps of one bin.
  struct Window {
    std::uint64_t bin = 0;
    std::uint64_t first_step = 0;
    std::uint64_t steps = 0;
  };

  BatchSample(const Plan& plan, const EpochPlan& epoch, const SampleLimits& limits);

  std::uint64_t bins() const noexcept { return bins_; }
  /// The first step of `bin`; the end of the epoch for `bins()`.
  std::uint64_t bin_begin(std::uint64_t bin) const noexcept;
  std::span<const std::uint32_t> readers() const noexcept { return readers_; }
  Window window(std::uint64_t bin) const noexcept;
  /// Whether the sample holds all batches of these readers.
  bool complete() const noexcept { return complete_; }

 private:
  std::uint64_t first_step_;
  std::uint64_t steps_;
  std::uint64_t bins_ = 0;
  std::uint64_t steps_per_bin_ = 0;  // the most; 0 for all steps
  bool complete_ = false;
  std::vector<std::uint32_t> readers_;
};

/// Walks the batches of one reader.
class BatchWalk {
 public:
  BatchWalk(const EpochPlan& epoch, std::uint32_t reader);

  /// The rows of `step`, lane after lane; valid until the next call. Cheap for the step after the
  /// previous call's step; otherwise it seeks in every lane.
  std::span<const PlannedRecord> batch(std::uint64_t step);

 private:
  const EpochPlan& epoch_;
  std::vector<LaneOrder> lanes_;
  std::vector<LaneCursor> cursors_;
  std::uint64_t next_step_ = 0;
  std::vector<Pick> picks_;
  std::vector<PlannedRecord> rows_;
};

}  // namespace dovetail::detail
