// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include <dovetail/batch.h>

namespace dovetail::detail {

/// Keeps one batch for ever, so that its slot is never filled again or freed. Allocates its room
/// when it is made, because memory may be short later.
class BatchKeeper {
 public:
  /// Call this once.
  void keep(Batch batch) noexcept {
    room_->batch = std::move(batch);
    room_->next = kept.exchange(room_.get());
    (void)room_.release();
  }

 private:
  struct Room {
    std::optional<Batch> batch;
    Room* next = nullptr;
  };
  static inline std::atomic<Room*> kept = nullptr;  // a list, in which leak checkers find the batches
  std::unique_ptr<Room> room_ = std::make_unique<Room>();
};

}  // namespace dovetail::detail
