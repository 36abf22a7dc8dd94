// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reader/handover/ready_queue.h"

namespace dovetail::detail {

/// Keeps the first batches of a reader in their slots and hands them out for ever, in order, at no cost except the
/// handover.
///
/// Ownership: shares the slots with the batches that it hands out.
/// Threads:   none; guarded by the reader's lock.
class Replay {
 public:
  /// Keeps this many batches; 0 keeps none.
  explicit Replay(std::uint32_t batches) : wanted_(batches) {}

  bool wanted() const noexcept { return wanted_ > 0; }
  /// All batches are kept: nothing more is read.
  bool complete() const noexcept { return wanted() && kept_.size() == wanted_; }
  /// Keeps the next batch. Needs: `wanted() && !complete()`, and that each batch has a slot of its own.
  void keep(const ReadyBatches& batch) { kept_.push_back(batch); }
  /// Adds all of them to a queue that has run empty. Needs: `complete()`.
  void refill(ReadyQueue& queue) const;

 private:
  std::uint32_t wanted_;
  std::vector<ReadyBatches> kept_;
};

}  // namespace dovetail::detail
