// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <string>

#include "format/try.h"
#include "reader/memory/cuda_calls.h"
#include "reader/memory/cuda_versions.h"
#include "reader/memory/device_events.h"

namespace dovetail::detail {

namespace {

cudaEvent_t handle_of(const DeviceEvent& event) {
  return static_cast<cudaEvent_t>(event.handle);
}

void destroy(const DeviceEvent& event) noexcept {
  forget(cudaEventDestroy(handle_of(event)));
}

/// Whether a device runs nothing any more in this process after this failure. Other failures do not
/// tell: a call may also fail because of another thread.
bool ends_all_work(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
      return true;
    default:
      return status == kErrorContained || status == kErrorTensorMemoryLeak;
  }
}

}  // namespace

DeviceEvents::~DeviceEvents() {
  if (spare_.empty() || process_ends()) return;
  run_on_device(spare_.back().device, [this](cudaError_t) {
    for (const DeviceEvent& event : spare_) destroy(event);
  });
}

Result<DeviceEvent> DeviceEvents::record(DeviceStream stream, int device_of_default_stream) {
  int current = 0;
  DOVETAIL_TRY(cuda_result("cudaGetDevice", cudaGetDevice(&current)));
  if (stream.handle == nullptr && device_of_default_stream >= 0 && current != device_of_default_stream) {
    return Error(Errc::invalid_option, "the default stream is ambiguous: the slots are registered for device " +
                                           std::to_string(device_of_default_stream) + ", but device " +
                                           std::to_string(current) +
                                           " is current; make the other current, or name a stream");
  }
  const OutsideCaptures outside;
  const auto handle = static_cast<cudaStream_t>(stream.handle);
  DOVETAIL_TRY(outside_capture(handle));
  DeviceEvent event{.device = current};
  {
    const std::lock_guard lock(mutex_);
    const auto spare = std::find_if(spare_.rbegin(), spare_.rend(),
                                    [&](const DeviceEvent& candidate) { return candidate.device == current; });
    if (spare != spare_.rend()) {
      event = *spare;
      spare_.erase(std::next(spare).base());
    }
  }
  if (event.handle == nullptr) {
    cudaEvent_t created = nullptr;
    DOVETAIL_TRY(cuda_result("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&created, cudaEventDisableTiming)));
    event.handle = created;
  }
  Result<void> recorded = cuda_result("cudaEventRecord", cudaEventRecord(handle_of(event), handle));
  // If a capture has begun meanwhile, the event belongs to its graph and does not count.
  if (recorded.has_value()) recorded = outside_capture(handle);
  if (!recorded.has_value()) {
    give_back(event);
    return recorded.error();
  }
  watch_for_end_of_process();
  return event;
}

DeviceEvents::Progress DeviceEvents::progress(const DeviceEvent& event) noexcept {
  if (process_ends()) return Progress::pending;
  const OutsideCaptures outside;
  const cudaError_t status = cudaEventQuery(handle_of(event));
  forget(status);
  if (status == cudaSuccess) return Progress::passed;
  return ends_all_work(status) ? Progress::gone : Progress::pending;
}

bool DeviceEvents::passed(const DeviceEvent& event) noexcept {
  bool passed = false;
  run_on_device(event.device, [&](cudaError_t) { passed = progress(event) == Progress::passed; });
  return passed;
}

void DeviceEvents::forget_passed(std::vector<DeviceEvent>& events) noexcept {
  std::size_t known = 0;
  bool pending = false;
  while (known < events.size() && !pending) {
    const int device = events[known].device;
    const auto look = [&](cudaError_t) {
      for (; known < events.size() && events[known].device == device && !pending; ++known) {
        pending = progress(events[known]) == Progress::pending;
        if (pending) break;
      }
    };
    run_on_device(device, std::cref(look));  // a function that holds `look` itself would need memory
  }
  const auto first = events.begin() + static_cast<std::ptrdiff_t>(known);
  for (auto event = events.begin(); event != first; ++event) give_back(*event);
  events.erase(events.begin(), first);
}

bool DeviceEvents::wait(const DeviceEvent& event) noexcept {
  if (process_ends()) return false;
  cudaError_t status = cudaSuccess;
  run_on_device(event.device, [&](cudaError_t) {
    const OutsideCaptures outside;
    status = cudaEventSynchronize(handle_of(event));
    forget(status);
  });
  return status == cudaSuccess || ends_all_work(status);
}

void DeviceEvents::make_device_current(const DeviceEvent& event) noexcept {
  if (process_ends()) return;
  int current = -1;
  if (cudaGetDevice(&current) == cudaSuccess && current == event.device) return;
  forget(cudaSetDevice(event.device));
}

Result<void> DeviceEvents::hold_back(DeviceStream stream, const DeviceEvent& event) {
  return cuda_result("cudaStreamWaitEvent",
                     cudaStreamWaitEvent(static_cast<cudaStream_t>(stream.handle), handle_of(event), 0));
}

void DeviceEvents::give_back(const DeviceEvent& event) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    spare_.push_back(event);
  } catch (const std::exception&) {  // no memory to keep it
    destroy(event);
  }
}

}  // namespace dovetail::detail
