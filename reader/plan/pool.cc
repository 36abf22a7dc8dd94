// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/pool.h"

#include <algorithm>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {

void SlotDraws::load(std::uint64_t batch) noexcept {
  batch_ = batch;
  Draws::Batch words;
  lane_.pool_draws().batch(batch, words);
  const std::uint64_t pool = lane_.pool();
  for (std::size_t i = 0; i < words.size(); ++i) slots_[i] = static_cast<std::uint32_t>(scale_below(words[i], pool));
}

std::vector<Held> pool_before(const PassLayout& lane, std::uint64_t output) {
  std::vector<Held> held;
  held.reserve(lane.pool());
  std::vector<bool> known(lane.pool());
  SlotDraws slots(lane);
  for (std::uint64_t end = output; end > 0 && held.size() < lane.pool();) {
    const std::span<const std::uint32_t> earlier = slots.before(end);
    for (std::size_t i = earlier.size(); i-- > 0;) {
      --end;
      if (known[earlier[i]]) continue;
      known[earlier[i]] = true;
      held.push_back({lane.pool() + end, earlier[i]});
    }
  }
  for (std::uint32_t slot = lane.pool(); slot-- > 0;) {
    if (!known[slot]) held.push_back({slot, slot});
  }
  std::reverse(held.begin(), held.end());
  return held;
}

}  // namespace dovetail::detail
