// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/device_stream.h>
#include <dovetail/error.h>

#include "format/process_mark.h"
#include "reader/memory/device_events.h"

namespace dovetail::detail {

class DeviceLease;

/// Slabs in the memory of one device, and the stream that fills them. Users release a slab with
/// streams. The copy stream waits for the work of these streams before it fills the slab again; no
/// thread waits.
///
/// Ownership: shared by the device reader and every batch. The last owner frees slabs and stream,
///            after the last use.
/// Threads:   `fill` on one thread at a time; other functions on any thread.
/// Errors:    `device_failed`, which names the call.
class DeviceRing : public std::enable_shared_from_this<DeviceRing> {
 public:
  /// Makes one allocation for all slabs. -1 is the current device. Errors: `invalid_option` if the
  /// slabs exceed the address space.
  static Result<std::shared_ptr<DeviceRing>> make(int device, std::uint32_t slabs, std::size_t slab_bytes);
  DeviceRing(const DeviceRing&) = delete;
  DeviceRing& operator=(const DeviceRing&) = delete;
  ~DeviceRing();

  const ProcessMark& process() const noexcept { return process_; }
  int device() const noexcept { return device_; }
  std::size_t slab_bytes() const noexcept { return slab_bytes_; }
  DeviceStream copies() const noexcept { return copies_; }
  /// Makes the device current on this thread and leaves it so.
  Result<void> make_current();

  /// A slab that nobody holds, or null. Work of its former users may still be running. Needs: the
  /// device is current.
  Result<std::shared_ptr<DeviceLease>> acquire();
  /// Whether a free slab cannot be used because a stream of its former users is being captured.
  /// Nothing signals the end of a capture, so poll.
  bool waits_for_capture() const noexcept { return waits_for_capture_.load(std::memory_order_relaxed); }
  /// Starts to copy `from` into the slab, after the work of its former users. `from` must stay
  /// valid until the copy stream has finished, also after an error.
  /// Needs: `from.size() <= slab_bytes()`; the device is current.
  Result<void> fill(DeviceLease& lease, ByteView from);
  /// Blocks until all copies have ended; for failures only. False if the end cannot be observed.
  bool finish_copies() noexcept;
  /// Slabs that the trainer holds.
  std::uint32_t held() const noexcept { return held_.load(std::memory_order_relaxed); }

  /// Sets a function that is called after a slab was released.
  void on_release(std::function<void()> callback);

 private:
  friend class DeviceLease;
  struct Free {
    std::uint32_t slab = 0;
    std::vector<DeviceEvent> users;      ///< Events after the work of its former users.
    std::vector<DeviceStream> unmarked;  ///< Streams of former users that have no event yet.
  };

  DeviceRing(int device, std::uint32_t slabs, std::size_t slab_bytes);
  Result<void> allocate();
  /// Records an event for each stream in `free.unmarked`. False while such a stream is being
  /// captured.
  Result<bool> mark_users(Free& free);
  Result<void> wait_for_users(Free& free);
  void release(Free free) noexcept;

  const ProcessMark process_;
  int device_;
  std::uint32_t slabs_;
  std::size_t slab_bytes_;
  DeviceStream copies_;
  std::byte* memory_ = nullptr;
  DeviceEvents events_;
  std::mutex mutex_;
  std::vector<Free> free_;
  // Relaxed, like `held_`: see the counts of `SlotRing`.
  std::atomic<bool> waits_for_capture_ = false;
  std::atomic<std::uint32_t> held_ = 0;
  std::mutex callback_mutex_;
  std::function<void()> callback_;
};

/// One slab, while it is filled and while the trainer holds it. The destructor frees the slab for
/// the next copy.
class DeviceLease {
  friend class DeviceRing;

 public:
  DeviceLease(std::shared_ptr<DeviceRing> ring, std::uint32_t slab);
  DeviceLease(const DeviceLease&) = delete;
  DeviceLease& operator=(const DeviceLease&) = delete;
  ~DeviceLease();

  const std::byte* slab() const noexcept { return slab_; }
  int device() const noexcept { return ring_->device(); }
  /// Called by a batch for its lease when the batch is released. Null does nothing. In a forked
  /// child nothing is freed.
  static void hand_back(std::shared_ptr<DeviceLease> lease) noexcept {
    if (lease != nullptr && lease->ring_->process().forked()) leave_alone(std::move(lease));
  }
  const ProcessMark& process() const noexcept { return ring_->process(); }
  /// Makes the stream wait for the copy. Makes the slab's next copy wait for the work that is in
  /// the stream when the lease ends.
  Result<void> wait_on(DeviceStream stream);
  /// Whether the copy has ended.
  bool ready() const noexcept;
  /// Marks the slab as held by the trainer, until the lease ends.
  void hand_over() noexcept;

 private:
  void mark_user(DeviceStream stream, bool device_current) noexcept;
  /// The rest of `wait_on`, run where the device is current; `current` is the result of making it
  /// so.
  Result<void> wait_on_device(void* stream, int current) noexcept;

  std::shared_ptr<DeviceRing> ring_;
  DeviceRing::Free slot_;  // the slab's entry in `DeviceRing::free_` after release
  std::byte* slab_;
  DeviceEvent copied_;
  bool handed_over_ = false;
  std::mutex mutex_;
  std::vector<DeviceStream> users_;
};

}  // namespace dovetail::detail
