// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reader/plan/pass_layout.h"

namespace dovetail::detail {

/// The slot that each output of a lane empties, for outputs whose slot is refilled.
///
/// Needs:     a lane with a pool.
/// Ownership: borrows the layout.
/// Cost:      one batch of draws is kept, so neighbouring outputs are cheap in both directions.
class SlotDraws {
 public:
  explicit SlotDraws(const PassLayout& lane) noexcept : lane_(lane) {}

  /// The slots of `output` and later outputs, as many as one batch of draws holds; each is below
  /// `lane.pool()`. The next call invalidates the span. `output` is below `lane.records() -
  /// lane.pool()`.
  std::span<const std::uint32_t> from(std::uint64_t output) noexcept {
    return batch_of(output).subspan(output % Draws::kBatch);
  }
  /// The slots of outputs before `output`, which is above 0; likewise.
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

/// A slot of the pool and the input that it holds.
struct Held {
  std::uint64_t input = 0;
  std::uint32_t slot = 0;
};

/// The content of every slot before output `output`, which is at most `lane.records() -
/// lane.pool()`. Ascending by input. Cost: a walk back over about K ln K draws for a pool of K
/// slots.
std::vector<Held> pool_before(const PassLayout& lane, std::uint64_t output);

}  // namespace dovetail::detail
