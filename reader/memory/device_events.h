// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include <dovetail/device_stream.h>
#include <dovetail/error.h>

namespace dovetail::detail {

/// A point in the work of a stream.
struct DeviceEvent {
  void* handle = nullptr;  ///< A `cudaEvent_t`.
  int device = 0;
};

/// Makes events, and keeps those that are done with for the next ones: none is created per batch.
///
/// Ownership: an event belongs to whoever got it until it is given back; those given back, to this.
/// Threads:   all functions may be called from any thread.
/// Errors:    `device_failed`, by the name of the call.
class DeviceEvents {
 public:
  DeviceEvents() = default;
  DeviceEvents(const DeviceEvents&) = delete;
  DeviceEvents& operator=(const DeviceEvents&) = delete;
  ~DeviceEvents();

  /// Marks the end of all that is in the stream by now. The stream is one of the current device, which a default stream needs
  /// to be `device_of_default_stream`, where that is given. Errors: `stream_captured`, `invalid_option` as well.
  Result<DeviceEvent> record(DeviceStream stream, int device_of_default_stream = -1);
  /// Whether all before it has run, for sure. Never waits.
  static bool passed(const DeviceEvent& event) noexcept;
  /// Gives back those at the beginning that nothing runs before any more. Never waits for a device.
  void forget_passed(std::vector<DeviceEvent>& events) noexcept;
  /// Waits for it, with the thread. False where that cannot be done, and what it stands for may be running still.
  static bool wait(const DeviceEvent& event) noexcept;
  /// Makes the event's device current on this thread, which is one of ours, for good.
  static void make_device_current(const DeviceEvent& event) noexcept;
  /// Lets later work of the stream wait for the event; the stream may be one of another device. The event may be given back
  /// after that.
  static Result<void> hold_back(DeviceStream stream, const DeviceEvent& event);
  void give_back(const DeviceEvent& event) noexcept;

 private:
  enum class Progress : std::uint8_t {
    pending,  ///< Something before the event has not run, or nobody can say.
    passed,   ///< All has.
    gone,     ///< The device has failed: nothing runs on it any more.
  };

  /// How far the device is. Needs: it is current.
  static Progress progress(const DeviceEvent& event) noexcept;
  Result<DeviceEvent> record_here(DeviceStream stream, int device);
  std::mutex mutex_;
  std::vector<DeviceEvent> spare_;
};

}  // namespace dovetail::detail
