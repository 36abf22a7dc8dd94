// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/damage_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dovetail::detail {

void DamageLog::note(std::uint64_t first_id, Loss loss) {
  const std::lock_guard lock(mutex_);
  const auto found = losses_.find(first_id);
  if (found != losses_.end() && found->second.end_record >= loss.end_record) return;
  new_.push_back({.file = dataset_.shard_path(loss.shard),
                  .offset = loss.error.offset().value_or(0),
                  .first_record = loss.first_record,
                  .end_record = loss.end_record,
                  .reason = loss.error.to_string()});
  has_new_ = true;
  // Of a shard that is lost as a whole, the blocks are no longer told apart.
  const auto end = losses_.lower_bound(first_id + (loss.end_record - loss.first_record));
  losses_.erase(losses_.lower_bound(first_id), end);
  losses_.emplace(first_id, std::move(loss));
}

std::vector<DamagedRange> DamageLog::take_new() {
  const std::lock_guard lock(mutex_);
  has_new_ = false;
  return std::exchange(new_, {});
}

std::map<std::uint64_t, Loss>::const_iterator DamageLog::find_locked(std::uint64_t id) const noexcept {
  const auto after = losses_.upper_bound(id);
  if (after == losses_.begin()) return losses_.end();
  const auto found = std::prev(after);
  return id - found->first < found->second.end_record - found->second.first_record ? found : losses_.end();
}

bool DamageLog::is_damaged(std::uint64_t id) const noexcept {
  const std::lock_guard lock(mutex_);
  return find_locked(id) != losses_.end();
}

Loss DamageLog::loss_of(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  return find_locked(id)->second;
}

}  // namespace dovetail::detail
