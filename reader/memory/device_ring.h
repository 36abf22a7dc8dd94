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

/// Slabs in the memory of one device, and the stream that fills them. A slab is filled again only after what its last users'
/// streams had to do by when they let go of it: the stream of copies waits for that, no thread does.
///
/// Ownership: shared by the stage and every batch; slabs and stream go with the last of them, after the last use.
/// Threads:   `fill` on one thread at a time; the rest on any.
/// Errors:    `device_failed`, by the name of the call.
class DeviceRing : public std::enable_shared_from_this<DeviceRing> {
 public:
  /// With -1, on the current device. One allocation for all slabs. Errors: `invalid_option` beyond the address space.
  static Result<std::shared_ptr<DeviceRing>> make(int device, std::uint32_t slabs, std::size_t slab_bytes);
  DeviceRing(const DeviceRing&) = delete;
  DeviceRing& operator=(const DeviceRing&) = delete;
  ~DeviceRing();

  const ProcessMark& process() const noexcept { return process_; }
  int device() const noexcept { return device_; }
  std::size_t slab_bytes() const noexcept { return slab_bytes_; }
  DeviceStream copies() const noexcept { return copies_; }
  /// Makes the device current on this thread, for good.
  Result<void> make_current();

  /// A slab that nobody holds, or null. Work of its former users may still be under way. Needs: the device current.
  Result<std::shared_ptr<DeviceLease>> acquire();
  /// Whether a slab that nobody holds is kept back because a stream of its users is being captured: nobody will say when
  /// that has ended.
  bool waits_for_capture() const noexcept { return waits_for_capture_.load(std::memory_order_relaxed); }
  /// Starts to copy bytes into the slab, behind its former users. They must stay until the copies' stream has done that,
  /// also after an error.
  /// Needs: `from.size() <= slab_bytes()`, the device current.
  Result<void> fill(DeviceLease& lease, ByteView from);
  /// Waits, with the thread, until all copies have ended: for what is not usual. False where nobody can say.
  bool finish_copies() noexcept;
  /// Slabs that the trainer holds.
  std::uint32_t held() const noexcept { return held_.load(std::memory_order_relaxed); }

  /// As for slots.
  void on_release(std::function<void()> callback);

 private:
  friend class DeviceLease;
  struct Free {
    std::uint32_t slab = 0;
    std::vector<DeviceEvent> users;      ///< Events behind what its former users had to do.
    std::vector<DeviceStream> unmarked;  ///< Streams of former users that have no event yet.
  };

  DeviceRing(int device, std::uint32_t slabs, std::size_t slab_bytes);
  Result<void> allocate();
  /// Has events for all of its users; false while a stream is being captured.
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
  std::atomic<bool> waits_for_capture_ = false;  // both relaxed, as for slots
  std::atomic<std::uint32_t> held_ = 0;
  std::mutex callback_mutex_;
  std::function<void()> callback_;
};

/// One slab while it is being filled and while the trainer has it. Destroying it frees the slab for the next copy.
class DeviceLease {
  friend class DeviceRing;

 public:
  DeviceLease(std::shared_ptr<DeviceRing> ring, std::uint32_t slab);
  DeviceLease(const DeviceLease&) = delete;
  DeviceLease& operator=(const DeviceLease&) = delete;
  ~DeviceLease();

  const std::byte* slab() const noexcept { return slab_; }
  int device() const noexcept { return ring_->device(); }
  /// What a batch does with it when it is released. Null does nothing, nor does a forked child.
  static void hand_back(std::shared_ptr<DeviceLease> lease) noexcept {
    if (lease != nullptr && lease->ring_->process().forked()) leave_alone(std::move(lease));
  }
  const ProcessMark& process() const noexcept { return ring_->process(); }
  /// Makes the stream wait for the copy, and the slab's next copy for what is in the stream when the lease ends.
  Result<void> wait_on(DeviceStream stream);
  /// Whether the copy has ended.
  bool ready() const noexcept;
  /// The trainer gets it, and counts as holding it until the lease ends.
  void hand_over() noexcept;

 private:
  void mark_user(DeviceStream stream, bool device_current) noexcept;
  /// `wait_on`, where the device was made current with this outcome.
  Result<void> wait_on_device(void* stream, int current) noexcept;

  std::shared_ptr<DeviceRing> ring_;
  DeviceRing::Free slot_;  // what it becomes
  std::byte* slab_;
  DeviceEvent copied_;
  bool handed_over_ = false;
  std::mutex mutex_;
  std::vector<DeviceStream> users_;
};

}  // namespace dovetail::detail
