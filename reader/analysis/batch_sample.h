// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <dovetail/plan.h>

namespace dovetail::detail {

/// How much of an epoch is looked at.
struct SampleLimits {
  std::uint64_t rows = 0;                    ///< At most; nothing where one batch has more.
  std::uint64_t bins = 1;                    ///< Of steps.
  std::optional<std::uint32_t> reader = {};  ///< One only.
  bool all_readers = false;                  ///< As many readers as fit, rather than more steps of fewer.
};

/// An even sample of the batches of an epoch's present phase: the steps are cut into bins of equal length, and a stretch
/// in the middle of each is looked at, the same steps on readers at even distances. All of it, where that is not too much.
class BatchSample {
 public:
  /// One bin, or the part of it that is looked at.
  struct Window {
    std::uint64_t bin = 0;
    std::uint64_t first_step = 0;
    std::uint64_t steps = 0;
  };

  BatchSample(const Plan& plan, const EpochPlan& epoch, const SampleLimits& limits);

  std::uint64_t bins() const noexcept { return bins_; }
  /// The step with which a bin begins; the end of the epoch for `bins()`.
  std::uint64_t bin_begin(std::uint64_t bin) const noexcept;
  std::span<const std::uint32_t> readers() const noexcept { return readers_; }
  Window window(std::uint64_t bin) const noexcept;
  /// Whether all batches of these readers are looked at.
  bool complete() const noexcept { return complete_; }

 private:
  std::uint64_t first_step_;
  std::uint64_t steps_;
  std::uint64_t bins_ = 0;
  std::uint64_t steps_per_bin_ = 0;  // at most; 0 for all
  bool complete_ = false;
  std::vector<std::uint32_t> readers_;
};

/// Walks the batches of one reader.
class BatchWalk {
 public:
  BatchWalk(const EpochPlan& epoch, std::uint32_t reader);

  /// The rows of a step, lane after lane; valid until the next call. Cheap for the step after the last one, else a seek
  /// in every lane.
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
