// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <dovetail/batch.h>
#include <dovetail/state.h>

#include "reader/memory/slot_ring.h"

namespace dovetail::test {

/// A batch of one valid row, as the trainer would get it.
inline Batch batch_of(std::shared_ptr<detail::SlotLease> lease, std::size_t slab_at = 0, std::uint64_t step = 0) {
  if (lease->origin() == nullptr) lease->set_origin(std::make_shared<const State>());
  return detail::SlotLease::to_batch(std::move(lease), slab_at, step, 1, 1);
}

/// Counts the slots that become free.
struct FreedSlots final : detail::SlotListener {
  void slot_is_free() noexcept override { ++count; }
  std::atomic<int> count = 0;
};

}  // namespace dovetail::test
