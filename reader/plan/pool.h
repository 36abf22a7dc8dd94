// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reader/plan/lane_layout.h"

namespace dovetail::detail {

/// The slot that each output of a lane leaves while the pool is refilled.
///
/// Ownership: borrows the layout.
/// Cost:      one batch of draws is kept, so neighbouring outputs are cheap in both directions.
class SlotDraws {
 public:
  explicit SlotDraws(const LaneLayout& lane) noexcept : lane_(lane) {}

  /// Below `lane.pool()`; `output` below `lane.records() - lane.pool()`.
  std::uint32_t operator()(std::uint64_t output) noexcept {
    const std::uint64_t batch = output / Draws::kBatch;
    if (batch != batch_) load(batch);
    return slots_[output % Draws::kBatch];
  }

 private:
  void load(std::uint64_t batch) noexcept;

  const LaneLayout& lane_;
  std::uint64_t batch_ = ~std::uint64_t{0};
  std::array<std::uint32_t, Draws::kBatch> slots_{};
};

/// The input that a slot holds.
struct Held {
  std::uint64_t input = 0;
  std::uint32_t slot = 0;
};

/// The input that output `output`, below `lane.records()`, emits. Cost: a walk back over about `lane.pool()` draws.
std::uint64_t input_of_output(const LaneLayout& lane, std::uint64_t output);

/// What every slot holds before output `output`, at most `lane.records() - lane.pool()`; ascending inputs.
/// Cost: a walk back over about K ln K draws for a pool of K.
std::vector<Held> pool_before(const LaneLayout& lane, std::uint64_t output);

}  // namespace dovetail::detail
