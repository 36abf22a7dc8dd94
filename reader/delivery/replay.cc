// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/replay.h"

namespace dovetail::detail {

void Replay::refill(ReadyQueue& queue) const {
  if (queue.size() > 0) return;
  for (const ReadyBatches& kept : kept_) queue.push(kept);
}

}  // namespace dovetail::detail
