// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/replay.h"

#include <utility>

namespace dovetail::detail {

namespace {

ReadyBatch again(const ReadyBatch& kept) {
  ReadyBatch batch = kept;
  batch.lease = SlotLease::again(kept.lease);
  return batch;
}

}  // namespace

ReadyBatch Replay::keep(ReadyBatch batch) {
  kept_.push_back(std::move(batch));
  return again(kept_.back());
}

void Replay::refill(ReadyQueue& queue) const {
  if (queue.size() > 0) return;
  for (const ReadyBatch& kept : kept_) queue.push(again(kept));
}

}  // namespace dovetail::detail
