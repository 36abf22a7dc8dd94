// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/residency.h"

#include <utility>

#include "reader/delivery/run_window.h"

namespace dovetail::detail {

Load& Residency::begin(Extent& extent) {
  extent.load = std::make_unique<Load>(extent, loads_);
  ++loads_;
  if (scatters_) extent.load->destinations.assign(extent.records, Load::kNowhere);
  used_ += extent.load_cost();
  extent.resident_at = resident_.size();
  resident_.push_back(&extent);
  return *extent.load;
}

std::unique_ptr<Load> Residency::end(Extent& extent) {
  resident_.back()->resident_at = extent.resident_at;
  resident_[extent.resident_at] = resident_.back();
  resident_.pop_back();
  if (extent.user->extent == &extent) {
    extent.user->block = nullptr;
    extent.user->destinations = nullptr;
  }
  extent.load->used_up = true;
  return std::move(extent.load);
}

namespace {

std::uint64_t last_row_of(const Extent& extent) {
  return extent.user->extent == &extent ? extent.user->last_row : extent.last_row;
}

}  // namespace

bool Residency::make_room(std::uint64_t cost, std::uint64_t row, std::vector<std::unique_ptr<Load>>& evicted) {
  while (!fits(cost)) {
    Extent* victim = nullptr;
    for (Extent* const extent : resident_) {
      const std::uint64_t last = last_row_of(*extent);
      if (last < row && (victim == nullptr || last > last_row_of(*victim))) victim = extent;
    }
    if (victim == nullptr) return false;
    evicted.emplace_back();
    evicted.back() = end(*victim);
    release(victim->load_cost());
    ++evictions_;
  }
  return true;
}

}  // namespace dovetail::detail
