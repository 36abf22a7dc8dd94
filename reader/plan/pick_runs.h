// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <dovetail/order.h>

#include "reader/plan/pass_walk.h"

namespace dovetail::detail {

/// Runs of which nothing but the order is asked: an entry is a pick, and each run is ready at once.
class PickRuns {
 public:
  using Entry = Pick;
  using Bases = SideBySide<std::uint64_t>;

  /// Picks number the runs of the pass from `first_run`.
  explicit PickRuns(std::uint64_t first_run) noexcept : first_run_(first_run) {}

  bool ready(const RunGroup&) const noexcept { return true; }
  void bind(Bases& bases, std::size_t slot, std::uint64_t position) const noexcept {
    bases.insert(slot, first_run_ + position);
  }
  static void give(const Bases& bases, std::size_t slot, std::size_t some, const std::uint32_t* __restrict at,
                   Pick* __restrict out) noexcept {
    const std::uint64_t* const __restrict run = bases.data<0>() + slot;
    for (std::size_t i = 0; i < some; ++i) out[i] = {run[i], at[i]};
  }
  bool restore(std::span<const PooledPick> held, std::span<Pick> pool) const noexcept {
    for (const auto& [slot, pick] : held) pool[slot] = {first_run_ + pick.run, pick.record};
    return true;
  }
  static void entered(const Pick&) noexcept {}
  void retire(std::span<Pick>) const noexcept {}
  Pick scattered(std::uint64_t position) const noexcept { return {first_run_ + position, 0}; }

 private:
  std::uint64_t first_run_;
};

using PickWalk = PassWalk<PickRuns>;

}  // namespace dovetail::detail
