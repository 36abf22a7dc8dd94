// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reader/handover/ready_queue.h"

namespace dovetail::detail {

/// Keeps the first batches of a reader in their slots and hands them out for ever, in order. The
/// only cost is the handover.
///
/// Ownership: shares the slots with the batches that it hands out.
/// Threads:   none; guarded by the reader's lock.
class Replay {
 public:
  /// Keeps `batches` batches; 0 disables the replay.
  explicit Replay(std::uint32_t batches) : wanted_(batches) {}

  bool wanted() const noexcept { return wanted_ > 0; }
  /// Whether all batches are kept. The reader reads nothing more then.
  bool complete() const noexcept { return wanted() && kept_.size() == wanted_; }
  /// Keeps the next batch. Needs: `wanted() && !complete()`, and that each batch has a slot of its
  /// own.
  void keep(const ReadyBatches& batch) { kept_.push_back(batch); }
  /// If `queue` is empty, pushes all kept batches. Needs: `complete()`.
  void refill(ReadyQueue& queue) const;

 private:
  std::uint32_t wanted_;
  std::vector<ReadyBatches> kept_;
};

}  // namespace dovetail::detail
