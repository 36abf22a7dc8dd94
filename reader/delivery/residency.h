// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "reader/delivery/extent.h"
#include "reader/delivery/load.h"

namespace dovetail::detail {

/// Which extents are in memory, by plan: decided row by row before anything is read, so that the loads that a row needs
/// fit the budget together, whatever the sizes of blocks, and delivery only has to follow.
///
/// Threads: none; belongs to the planner.
class Residency {
 public:
  /// With `scatters`, loads note where their records go.
  explicit Residency(std::uint64_t budget, bool scatters) : budget_(budget), scatters_(scatters) {}

  std::uint64_t budget() const noexcept { return budget_; }
  bool fits(std::uint64_t cost) const noexcept { return used_ + cost <= budget_; }
  std::uint64_t evictions() const noexcept { return evictions_; }

  /// A new load of an extent that has none. Needs: its cost fits.
  Load& begin(Extent& extent);
  /// Takes the extent's load away. Its bytes count until `release`.
  std::unique_ptr<Load> end(Extent& extent);
  /// Says that so many bytes are free from here on.
  void release(std::uint64_t cost) noexcept { used_ -= cost; }

  /// Evicts extents that no row from `row` on was planned from, the most recently used first, until so much fits: the
  /// order takes records from all open runs in turn, so that those are needed last. Whether it fits.
  bool make_room(std::uint64_t cost, std::uint64_t row, std::vector<std::unique_ptr<Load>>& evicted);

  /// Loads so far; the number of the next one.
  std::uint64_t loads() const noexcept { return loads_; }
  /// Extents with a load.
  const std::vector<Extent*>& extents() const noexcept { return resident_; }

 private:
  std::uint64_t budget_;
  bool scatters_;
  std::uint64_t used_ = 0;
  std::uint64_t loads_ = 0;
  std::uint64_t evictions_ = 0;
  std::vector<Extent*> resident_;
};

}  // namespace dovetail::detail
