// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <dovetail/order.h>

#include "reader/plan/pass_walk.h"
#include "reader/plan/run_group.h"
#include "reader/plan/side_by_side.h"

namespace dovetail::detail {

/// `Runs` for walks that need only the order: an entry is a pick, and every run is ready.
class PickRuns {
 public:
  using Entry = Pick;
  using Bases = SideBySide<std::uint64_t>;

  /// The runs of the pass have the numbers from `first_run` on in picks.
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
  std::size_t restore(std::span<const PooledPick> held, std::span<Pick> pool) const noexcept {
    for (const PooledPick& of : held) pool[of.slot] = {first_run_ + of.pick.run, of.pick.record};
    return held.size();
  }
  static void entered(std::span<const Pick>) noexcept {}
  void retire(std::span<Pick>) const noexcept {}
  static std::uint64_t scattered_ready(std::uint64_t) noexcept { return UINT64_MAX; }
  Pick scattered(std::uint64_t position) const noexcept { return {first_run_ + position, 0}; }

 private:
  std::uint64_t first_run_;
};

using PickWalk = PassWalk<PickRuns>;

}  // namespace dovetail::detail
