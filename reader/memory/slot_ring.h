// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <dovetail/batch.h>
#include <dovetail/error.h>

#include "format/process_mark.h"
#include "reader/memory/batch_columns.h"
#include "reader/memory/device_events.h"
#include "reader/memory/host_memory.h"

namespace dovetail::detail {

class SlotLease;

/// Notified when a slot becomes free: on the thread that released it or on the ring's own, with no
/// lock held.
class SlotListener {
 public:
  virtual void slot_is_free() noexcept = 0;

 protected:
  ~SlotListener() = default;
};

/// The slots of a reader: equal pieces of one mapping. A slot is filled and handed to the trainer
/// as one batch or several. It is filled again once all of them are released, and the copies that
/// they were released with have ended.
///
/// Ownership: shared by the reader and every batch. The last owner frees the mapping, after the
///            last copy.
/// Threads:   all functions may be called from any thread. The first release with a stream starts a
///            thread that polls copies as long as there are any.
class SlotRing : public std::enable_shared_from_this<SlotRing> {
 public:
  /// Errors: `invalid_option` if the slots exceed the address space; those of `HostMemory::make`.
  static Result<std::shared_ptr<SlotRing>> make(std::uint32_t slots, std::size_t slot_bytes,
                                                const HostMemoryOptions& memory);
  SlotRing(const SlotRing&) = delete;
  SlotRing& operator=(const SlotRing&) = delete;
  /// Waits for the copies that slots were released with. Runs on the ring's own thread if the
  /// listener, called there, drops the last use of the ring.
  ~SlotRing();

  std::uint32_t slots() const noexcept { return slots_; }
  std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  bool registered() const noexcept { return memory_.registered(); }
  const HostMemory& memory() const noexcept { return memory_; }

  /// Whether a slot is free: neither filled nor held.
  bool has_free() const noexcept { return free_slots() > 0; }
  std::uint32_t free_slots() const noexcept { return free_slots_.load(std::memory_order_relaxed); }
  /// A free slot, or null if there is none.
  std::shared_ptr<SlotLease> acquire();
  /// Plain memory of its own for a batch that does not fit its slot. The new lease takes the slot
  /// over, so there are never more batches than slots. The bytes of the old lease stay unchanged
  /// while the new lease lives.
  Result<std::shared_ptr<SlotLease>> spill(SlotLease& slot, std::size_t bytes);

  /// Batches that the trainer holds. Exact if none is handed out meanwhile.
  std::uint64_t held() const noexcept {
    const std::uint64_t back = handed_back_.load(std::memory_order_relaxed);
    return handed_out_.load(std::memory_order_relaxed) - back;
  }
  /// Call this before the first slot is released. The listener is kept alive while it is called.
  void listen(std::weak_ptr<SlotListener> listener) noexcept { listener_ = std::move(listener); }

 private:
  friend class SlotLease;
  /// A released slot whose copies may still be running.
  struct Leaving {
    std::uint32_t slot = 0;
    std::vector<DeviceEvent> events;
    std::optional<HostMemory> spilled;
  };

  SlotRing(HostMemory memory, std::uint32_t slots, std::size_t slot_bytes);
  std::span<std::byte> slot_bytes_of(std::uint32_t slot) const noexcept;
  /// Records an event after the work in the stream, and starts the watcher thread if needed. The
  /// default stream means that of the device for which the slots were registered.
  Result<DeviceEvent> mark(DeviceStream stream);
  void release(Leaving leaving) noexcept;
  void make_free(std::uint32_t slot) noexcept;
  /// Frees the slots whose copies have ended. Returns whether there were any. The ring may be
  /// destroyed inside.
  bool collect() noexcept;
  void watch();

  const ProcessMark process_;
  HostMemory memory_;
  std::uint32_t slots_;
  std::size_t slot_bytes_;
  DeviceEvents events_;
  mutable std::mutex mutex_;
  std::vector<std::uint32_t> free_;
  std::vector<Leaving> leaving_;  // in the order of their release
  // Relaxed: the content of a slot passes from one user to the next through `mutex_`. The listener
  // is called after `free_slots_` has changed. A trainer sees its own releases when it asks, on any
  // of its threads.
  std::atomic<std::uint32_t> free_slots_ = 0;  // size of `free_`
  std::atomic<std::uint64_t> handed_out_ = 0;  // batches; changed by one thread at a time
  std::atomic<std::uint64_t> handed_back_ = 0;
  std::weak_ptr<SlotListener> listener_;
  std::condition_variable wakes_;
  bool ending_ = false;
  std::thread watcher_;
  // Set in the destructor if it runs on the watcher, which then outlives the ring.
  const std::shared_ptr<bool> gone_ = std::make_shared<bool>(false);
};

/// One slot, while it is filled and while the trainer has batches of it. The destructor frees the
/// slot.
class SlotLease {
  friend class SlotRing;

 public:
  SlotLease(std::shared_ptr<SlotRing> ring, std::uint32_t slot, std::optional<HostMemory> spilled);
  SlotLease(const SlotLease&) = delete;
  SlotLease& operator=(const SlotLease&) = delete;
  ~SlotLease();

  std::span<std::byte> bytes() const noexcept { return bytes_; }
  /// The columns of each batch; empty without columns. Owned by the thread that fills the slot and,
  /// for batches that were handed over, by the trainer.
  std::vector<BatchColumns>& columns() noexcept { return columns_; }
  /// Sets the base of the states of the batches. Call this before the first batch is made.
  void set_origin(std::shared_ptr<const State> origin) noexcept { origin_ = std::move(origin); }
  const std::shared_ptr<const State>& origin() const noexcept { return origin_; }
  bool registered() const noexcept { return !spilled() && ring_->registered(); }
  bool spilled() const noexcept { return spilled_.has_value(); }

  /// Keeps the slot from becoming free before all work that is in the stream now has run. Errors:
  /// `device_failed`.
  Result<void> wait_for(DeviceStream stream);

  /// Makes a batch for the trainer. Its slab begins at byte `slab_at` of the slot. It counts as
  /// held until `hand_back`. Only one call at a time for all leases of a ring.
  static Batch to_batch(std::shared_ptr<SlotLease> lease, std::size_t slab_at, std::uint64_t step, std::uint32_t rows,
                        std::uint32_t valid, const BatchColumns* columns = nullptr);
  /// Called by a batch for its share of the lease when the batch is released. Null does nothing. In
  /// a forked child nothing is freed, because the slot belongs to the other process.
  static void hand_back(std::shared_ptr<SlotLease> lease) noexcept;

 private:
  std::shared_ptr<SlotRing> ring_;
  std::optional<std::uint32_t> slot_;  // empty once spilled memory has taken the slot over
  std::optional<HostMemory> spilled_;
  std::span<std::byte> bytes_;
  std::vector<BatchColumns> columns_;
  std::shared_ptr<const State> origin_;
  std::vector<DeviceEvent> events_;  // guarded by the ring's lock
};

}  // namespace dovetail::detail
