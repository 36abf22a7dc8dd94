// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/pass_order.h"

#include <algorithm>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {

Run ScatteredLane::run(std::uint64_t position) const noexcept {
  const std::uint64_t id = source.first_id + records(begin + position);
  const auto first = facts->first_id.begin() + source.first_shard;
  // Shards without records have the same first id as the next shard; `upper_bound` skips them.
  const auto after = std::upper_bound(first, first + source.shards, id);
  const auto shard = static_cast<std::uint32_t>(after - facts->first_id.begin()) - 1;
  return {.shard = shard, .first_record = id - facts->first_id[shard], .count = 1, .first_id = id};
}

std::uint64_t PassOrder::groups_before(std::uint64_t end) const noexcept {
  if (layout_ == nullptr) return divide_up(end, scattered_group_);
  const std::uint64_t inputs = std::min(end + layout_->pool(), layout_->records());
  return inputs == 0 ? 0 : layout_->group_of(inputs - 1) + 1;
}

}  // namespace dovetail::detail
