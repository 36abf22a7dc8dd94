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

/// Hears that a slot has become free, on the thread that released it or on the ring's own, with no lock held.
class SlotListener {
 public:
  virtual void slot_is_free() noexcept = 0;

 protected:
  ~SlotListener() = default;
};

/// The slots of a reader: equal pieces of one mapping, each filled, handed to the trainer as one batch or several, and
/// filled again once all of these are released and the copies that they were released with have ended.
///
/// Ownership: shared by the reader and every batch; the mapping goes with the last of them, after the last copy.
/// Threads:   all functions may be called from any thread. The first release with a stream starts a thread that looks
///            which copies have ended, as long as there are any.
class SlotRing : public std::enable_shared_from_this<SlotRing> {
 public:
  /// Errors: `invalid_option` for slots beyond the address space; those of `HostMemory::make`.
  static Result<std::shared_ptr<SlotRing>> make(std::uint32_t slots, std::size_t slot_bytes,
                                                const HostMemoryOptions& memory);
  SlotRing(const SlotRing&) = delete;
  SlotRing& operator=(const SlotRing&) = delete;
  /// Waits for the copies that slots were released with. Runs on the ring's own thread where what that does after a
  /// release was the last use of the ring.
  ~SlotRing();

  std::uint32_t slots() const noexcept { return slots_; }
  std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  /// All slots, one behind the other.
  std::span<std::byte> bytes() const noexcept { return memory_.bytes(); }
  bool registered() const noexcept { return memory_.registered(); }
  const HostMemory& memory() const noexcept { return memory_; }

  /// Whether a slot is neither filled nor held.
  bool has_free() const noexcept { return free_slots() > 0; }
  std::uint32_t free_slots() const noexcept { return free_slots_.load(std::memory_order_relaxed); }
  /// A free slot, or null where all are filled or held.
  std::shared_ptr<SlotLease> acquire();
  /// One-off plain memory in place of a slot that is too small. It takes the slot over from the lease, whose bytes stay as
  /// they are while the new one lives: there are never more batches than slots.
  Result<std::shared_ptr<SlotLease>> spill(SlotLease& slot, std::size_t bytes);

  /// Batches that the trainer holds. Exact where none is handed out meanwhile.
  std::uint64_t held() const noexcept {
    const std::uint64_t back = handed_back_.load(std::memory_order_relaxed);
    return handed_out_.load(std::memory_order_relaxed) - back;
  }
  /// To be called before the first slot is released. The listener is kept alive while it is called.
  void listen(std::weak_ptr<SlotListener> listener) noexcept { listener_ = std::move(listener); }

 private:
  friend class SlotLease;
  /// A slot whose copies may still be running.
  struct Leaving {
    std::uint32_t slot = 0;
    std::vector<DeviceEvent> events;
    std::optional<HostMemory> spilled;
  };

  SlotRing(HostMemory memory, std::uint32_t slots, std::size_t slot_bytes);
  std::span<std::byte> slot_bytes_of(std::uint32_t slot) const noexcept;
  /// An event behind what is in the stream, and a thread that looks at it later. The default stream is that of the device
  /// that the slots were registered for.
  Result<DeviceEvent> mark(DeviceStream stream);
  void release(Leaving leaving) noexcept;
  void make_free(std::uint32_t slot) noexcept;
  /// Frees the slots whose copies have ended; whether there were any. The ring may be gone then.
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
  // Relaxed: what is in a slot passes from one user to the next by `mutex_`. The listener hears after `free_slots_`, and a
  // trainer sees what it released before it asks, on any of its threads.
  std::atomic<std::uint32_t> free_slots_ = 0;  // as many as `free_` has
  std::atomic<std::uint64_t> handed_out_ = 0;  // batches; changed by one thread at a time
  std::atomic<std::uint64_t> handed_back_ = 0;
  std::weak_ptr<SlotListener> listener_;
  std::condition_variable wakes_;
  bool ending_ = false;
  std::thread watcher_;
  const std::shared_ptr<bool> gone_ = std::make_shared<bool>(false);  // of the watcher, which outlives the ring then
};

/// One slot while it is being filled and while the trainer has batches of it. Destroying it frees the slot.
class SlotLease {
  friend class SlotRing;

 public:
  SlotLease(std::shared_ptr<SlotRing> ring, std::uint32_t slot, std::optional<HostMemory> spilled);
  SlotLease(const SlotLease&) = delete;
  SlotLease& operator=(const SlotLease&) = delete;
  ~SlotLease();

  std::span<std::byte> bytes() const noexcept { return bytes_; }
  /// Of each of its batches; empty where they have none. Belongs to whoever fills the slot, and to the trainer for the batches
  /// that it has.
  std::vector<BatchColumns>& columns() noexcept { return columns_; }
  /// What the states of its batches are counted from. To be set before the first of them is made.
  void set_origin(std::shared_ptr<const State> origin) noexcept { origin_ = std::move(origin); }
  const std::shared_ptr<const State>& origin() const noexcept { return origin_; }
  bool registered() const noexcept { return !spilled() && ring_->registered(); }
  bool spilled() const noexcept { return spilled_.has_value(); }

  /// The slot is not free before all that is in the stream by now has run. Errors: `device_failed`.
  Result<void> wait_for(DeviceStream stream);

  /// Makes a batch that the trainer gets, with its slab at so many bytes and these columns, if any; counts as held until
  /// `hand_back`. One call at a time for all leases of a ring.
  static Batch to_batch(std::shared_ptr<SlotLease> lease, std::size_t slab_at, std::uint64_t step, std::uint32_t rows,
                        std::uint32_t valid, const BatchColumns* columns = nullptr);
  /// What a batch does with its share of the lease when it is released. Null does nothing, and in a forked child nothing is
  /// done: the slot is the other process's.
  static void hand_back(std::shared_ptr<SlotLease> lease) noexcept;

 private:
  std::shared_ptr<SlotRing> ring_;
  std::optional<std::uint32_t> slot_;  // none once spilled memory has taken it over
  std::optional<HostMemory> spilled_;
  std::span<std::byte> bytes_;
  std::vector<BatchColumns> columns_;
  std::shared_ptr<const State> origin_;
  std::vector<DeviceEvent> events_;  // guarded by the ring's lock
};

}  // namespace dovetail::detail
