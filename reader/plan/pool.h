// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reader/plan/pass_layout.h"

namespace dovetail::detail {

/// The slot that each output of a lane leaves while the pool is refilled.
///
/// Needs:     a lane with a pool.
/// Ownership: borrows the layout.
/// Cost:      one batch of draws is kept, so neighbouring outputs are cheap in both directions.
class SlotDraws {
 public:
  explicit SlotDraws(const PassLayout& lane) noexcept : lane_(lane) {}

  /// Below `lane.pool()`; `output` below `lane.records() - lane.pool()`.
  std::uint32_t operator()(std::uint64_t output) noexcept { return from(output).front(); }
  /// The same for `output` and those after it, as many as are drawn at once. The next call invalidates it.
  std::span<const std::uint32_t> from(std::uint64_t output) noexcept {
    return batch_of(output).subspan(output % Draws::kBatch);
  }
  /// The same for those before `output`, which is above 0.
  std::span<const std::uint32_t> before(std::uint64_t output) noexcept {
    return batch_of(output - 1).first((output - 1) % Draws::kBatch + 1);
  }

 private:
  std::span<const std::uint32_t> batch_of(std::uint64_t output) noexcept {
    const std::uint64_t batch = output / Draws::kBatch;
    if (batch != batch_) load(batch);
    return slots_;
  }
  void load(std::uint64_t batch) noexcept;

  const PassLayout& lane_;
  std::uint64_t batch_ = ~std::uint64_t{0};
  std::array<std::uint32_t, Draws::kBatch> slots_{};
};

/// The input that a slot holds.
struct Held {
  std::uint64_t input = 0;
  std::uint32_t slot = 0;
};

/// The input that output `output`, below `lane.records()`, emits. Cost: a walk back over about `lane.pool()` draws.
std::uint64_t input_of_output(const PassLayout& lane, std::uint64_t output);

/// What every slot holds before output `output`, at most `lane.records() - lane.pool()`; ascending inputs.
/// Cost: a walk back over about K ln K draws for a pool of K.
std::vector<Held> pool_before(const PassLayout& lane, std::uint64_t output);

}  // namespace dovetail::detail
