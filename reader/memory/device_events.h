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

/// Makes events, and keeps unused events for reuse, so that none is created per batch.
///
/// Ownership: an event belongs to the code that got it until it is given back. Events that are
///            given back belong to this object.
/// Threads:   all functions may be called from any thread.
/// Errors:    `device_failed`, which names the call.
class DeviceEvents {
 public:
  DeviceEvents() = default;
  DeviceEvents(const DeviceEvents&) = delete;
  DeviceEvents& operator=(const DeviceEvents&) = delete;
  ~DeviceEvents();

  /// Records an event after all work that is in the stream now. The stream belongs to the current
  /// device. If `stream` is the default stream, the current device must be
  /// `device_of_default_stream`, unless that is -1. Errors: also `stream_captured`,
  /// `invalid_option`.
  Result<DeviceEvent> record(DeviceStream stream, int device_of_default_stream = -1);
  /// Whether all work before the event has certainly run. Never waits.
  static bool passed(const DeviceEvent& event) noexcept;
  /// Gives back the leading events whose work has ended. Never waits for a device.
  void forget_passed(std::vector<DeviceEvent>& events) noexcept;
  /// Blocks until the event has passed. False if that cannot be observed; the work may still be
  /// running then.
  static bool wait(const DeviceEvent& event) noexcept;
  /// Makes the event's device current on this thread and leaves it so. Only for threads of the
  /// library.
  static void make_device_current(const DeviceEvent& event) noexcept;
  /// Makes later work of the stream wait for the event. The stream may belong to another device.
  /// The event may be given back afterwards.
  static Result<void> hold_back(DeviceStream stream, const DeviceEvent& event);
  void give_back(const DeviceEvent& event) noexcept;

 private:
  enum class Progress : std::uint8_t {
    pending,  ///< Work before the event has not run, or that is unknown.
    passed,   ///< All work before the event has run.
    gone,     ///< The device has failed, so nothing runs on it any more.
  };

  /// Queries the event. Needs: its device is current.
  static Progress progress(const DeviceEvent& event) noexcept;

  std::mutex mutex_;
  std::vector<DeviceEvent> spare_;
};

}  // namespace dovetail::detail
