// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/damage_log.h"

#include <iterator>
#include <utility>

namespace dovetail::detail {

void DamageLog::note(std::uint64_t first_id, Loss loss) {
  const std::lock_guard lock(mutex_);
  Losses& losses = loss.whole_shard ? shards_ : blocks_;
  if (losses.contains(first_id)) return;
  new_.push_back({.file = dataset_.shard_path(loss.shard),
                  .offset = loss.error.offset().value_or(0),
                  .first_record = loss.first_record,
                  .end_record = loss.end_record,
                  .reason = loss.error.to_string()});
  has_new_ = true;
  losses.emplace(first_id, std::move(loss));
}

std::vector<LostRange> DamageLog::take_new() {
  const std::lock_guard lock(mutex_);
  has_new_ = false;
  return std::exchange(new_, {});
}

const Loss* DamageLog::find(const Losses& losses, std::uint64_t id) noexcept {
  const auto after = losses.upper_bound(id);
  if (after == losses.begin()) return nullptr;
  const auto& [first, loss] = *std::prev(after);
  return id - first < loss.end_record - loss.first_record ? &loss : nullptr;
}

bool DamageLog::is_damaged(std::uint64_t id) const noexcept {
  const std::lock_guard lock(mutex_);
  return find(blocks_, id) != nullptr;
}

Loss DamageLog::loss_of(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const Loss* const block = find(blocks_, id);
  return block != nullptr ? *block : *find(shards_, id);
}

}  // namespace dovetail::detail
