// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <dovetail/batch.h>
#include <dovetail/error.h>

#include "reader/memory/host_memory.h"

namespace dovetail::detail {

class SlotLease;

/// The slots of a reader: equal pieces of one mapping, each filled, handed to the trainer as one batch or several, and
/// filled again once all of these are released.
///
/// Ownership: shared by the reader and every batch; the mapping goes with the last of them.
/// Threads:   all functions may be called from any thread.
class SlotRing : public std::enable_shared_from_this<SlotRing> {
 public:
  /// Errors: `invalid_option` for slots beyond the address space; those of `HostMemory::make`.
  static Result<std::shared_ptr<SlotRing>> make(std::uint32_t slots, std::size_t slot_bytes, Registration mode,
                                                bool huge_pages = false);

  std::uint32_t slots() const noexcept { return slots_; }
  std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  /// All slots, one behind the other.
  std::span<std::byte> bytes() const noexcept { return memory_.bytes(); }
  bool registered() const noexcept { return memory_.registered(); }
  const std::string& note() const noexcept { return memory_.note(); }

  /// Whether a slot is neither filled nor held.
  bool has_free() const noexcept { return free_slots() > 0; }
  std::uint32_t free_slots() const noexcept { return free_slots_.load(std::memory_order_relaxed); }
  /// A free slot, or null where all are filled or held.
  std::shared_ptr<SlotLease> acquire();
  /// One-off plain memory in place of a slot that is too small. The slot stays taken as long as the memory lives, so
  /// there are never more batches than slots.
  Result<std::shared_ptr<SlotLease>> spill(const std::shared_ptr<SlotLease>& slot, std::size_t bytes);

  /// Batches that the trainer holds.
  std::uint32_t held() const noexcept { return held_.load(std::memory_order_relaxed); }
  /// Called on the releasing thread, with no lock held by it, each time a slot becomes free. An empty function ends it;
  /// when this returns no earlier one is running.
  void on_release(std::function<void()> callback);

 private:
  friend class SlotLease;
  SlotRing(HostMemory memory, std::uint32_t slots, std::size_t slot_bytes);
  void release(std::int64_t slot);

  HostMemory memory_;
  std::uint32_t slots_;
  std::size_t slot_bytes_;
  mutable std::mutex mutex_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> slot_notes_;
  std::atomic<std::uint32_t> free_slots_ = 0;  // as many as `free_` has
  std::atomic<std::uint32_t> held_ = 0;
  std::mutex callback_mutex_;
  std::function<void()> callback_;
};

/// One slot while it is being filled and while the trainer has batches of it. Destroying it frees the slot.
class SlotLease {
  friend class SlotRing;

 public:
  SlotLease(std::shared_ptr<SlotRing> ring, std::uint32_t slot, std::span<std::byte> bytes);
  SlotLease(std::shared_ptr<SlotRing> ring, HostMemory spilled, std::shared_ptr<SlotLease> slot);
  SlotLease(const SlotLease&) = delete;
  SlotLease& operator=(const SlotLease&) = delete;
  ~SlotLease();

  std::span<std::byte> bytes() const noexcept { return bytes_; }
  /// A note that stays with the slot, 0 at first: belongs to whoever fills it. Needs: not spilled.
  std::uint32_t& slot_note() const noexcept { return ring_->slot_notes_[static_cast<std::size_t>(slot_)]; }
  bool registered() const noexcept { return slot_ >= 0 && ring_->registered(); }
  bool spilled() const noexcept { return slot_ < 0; }

  /// Makes a batch that the trainer gets, with its slab at so many bytes; counts as held until `hand_back`.
  static Batch to_batch(std::shared_ptr<SlotLease> lease, std::size_t slab_at, std::shared_ptr<const State> origin,
                        std::uint64_t step, std::uint32_t rows, std::uint32_t valid);
  /// What a batch does with its share of the lease when it is released. Null does nothing.
  static void hand_back(std::shared_ptr<SlotLease> lease) noexcept;

 private:
  std::shared_ptr<SlotRing> ring_;
  std::int64_t slot_;  // -1 for spilled memory
  HostMemory spilled_;
  std::shared_ptr<SlotLease> replaced_;  // the slot that spilled memory stands for
  std::span<std::byte> bytes_;
};

}  // namespace dovetail::detail
