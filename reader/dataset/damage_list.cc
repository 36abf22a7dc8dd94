// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/damage_list.h"

#include <iterator>

namespace dovetail::detail {

void tell_damage(LostRange damage, VerifyReport& report) {
  ++report.damaged_places;
  if (report.damaged.size() < kMostDamagedListed) report.damaged.push_back(std::move(damage));
}

void DamageList::add(std::size_t shard, LostRange damage) {
  const std::lock_guard lock(mutex_);
  const std::pair key(shard, all_++);
  const bool full = first_.size() >= kMostDamagedListed;
  if (full && key > first_.rbegin()->first) return;
  first_.emplace(key, std::move(damage));
  if (full) first_.erase(std::prev(first_.end()));
}

void DamageList::move_to(VerifyReport& report) {
  const std::uint64_t unlisted = all_ - first_.size();
  for (auto& [key, damage] : first_) tell_damage(std::move(damage), report);
  report.damaged_places += unlisted;
  first_.clear();
  all_ = 0;
}

}  // namespace dovetail::detail
