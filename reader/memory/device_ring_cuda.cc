// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <exception>
#include <string>
#include <utility>

#include "format/try.h"
#include "reader/memory/cuda_calls.h"
#include "reader/memory/cuda_versions.h"
#include "reader/memory/device_ring.h"

namespace dovetail::detail {

namespace {

cudaStream_t handle_of(DeviceStream stream) {
  return static_cast<cudaStream_t>(stream.handle);
}

}  // namespace

Result<std::shared_ptr<DeviceRing>> DeviceRing::make(int device, std::uint32_t slabs, std::size_t slab_bytes) {
  if (slab_bytes == 0 || slabs == 0 || slab_bytes > SIZE_MAX / slabs) {
    return Error(Errc::invalid_option, "device slabs beyond the address space");
  }
  int devices = 0;
  DOVETAIL_TRY(cuda_result("cudaGetDeviceCount", cudaGetDeviceCount(&devices)));
  if (device < 0) {
    DOVETAIL_TRY(cuda_result("cudaGetDevice", cudaGetDevice(&device)));
  }
  if (device >= devices) {
    return Error(Errc::device_failed, "there is no CUDA device " + std::to_string(device) + "; this process sees " +
                                          std::to_string(devices));
  }
  const std::shared_ptr<DeviceRing> ring(new DeviceRing(device, slabs, slab_bytes));
  Result<void> allocated;
  run_on_device(device, [&](cudaError_t current) {
    allocated = cuda_result("cudaSetDevice", current);
    if (allocated.has_value()) allocated = ring->allocate();
  });
  DOVETAIL_TRY(allocated);
  watch_for_end_of_process();
  return ring;
}

DeviceRing::DeviceRing(int device, std::uint32_t slabs, std::size_t slab_bytes)
    : device_(device), slabs_(slabs), slab_bytes_(slab_bytes) {
  free_.reserve(slabs);  // so that `release` needs no memory
  for (std::uint32_t slab = slabs; slab > 0; --slab) free_.push_back({.slab = slab - 1, .users = {}, .unmarked = {}});
}

Result<void> DeviceRing::allocate() try {
  cudaStream_t stream = nullptr;
  DOVETAIL_TRY(cuda_result("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)));
  copies_.handle = stream;
  void* memory = nullptr;
  const std::string call = "cudaMalloc of " + std::to_string(slabs_ * slab_bytes_) + " bytes for batches";
  const OutsideCaptures outside;
  DOVETAIL_TRY(cuda_result(call.c_str(), cudaMalloc(&memory, slabs_ * slab_bytes_)));
  memory_ = static_cast<std::byte*>(memory);
  return {};
} catch (const std::exception& failure) {
  return Error::from_errno(ENOMEM, failure.what());
}

DeviceRing::~DeviceRing() {
  if (copies_.handle == nullptr || process_ends()) return;
  run_on_device(device_, [this](cudaError_t) {
    bool used = false;
    for (Free& free : free_) {
      (void)mark_users(free);  // a capture may have ended since
      for (const DeviceEvent& event : free.users) {
        used = !DeviceEvents::wait(event) || used;
        events_.give_back(event);
      }
      used = used || !free.unmarked.empty();
    }
    used = !finish_copies() || used;
    const OutsideCaptures outside;
    // Otherwise the memory stays, because work may still read it.
    if (!used) forget(cudaFree(memory_));
    forget(cudaStreamDestroy(handle_of(copies_)));
  });
}

Result<void> DeviceRing::make_current() {
  return cuda_result("cudaSetDevice", cudaSetDevice(device_));
}

Result<std::shared_ptr<DeviceLease>> DeviceRing::acquire() {
  const std::lock_guard lock(mutex_);
  bool captured = false;
  // The users of the slab that was released first have most likely ended.
  for (auto free = free_.begin(); free != free_.end(); ++free) {
    DOVETAIL_ASSIGN(const bool marked, mark_users(*free));
    captured = captured || !marked;
    if (!marked) continue;
    auto lease = std::make_shared<DeviceLease>(shared_from_this(), free->slab);
    lease->slot_ = std::move(*free);
    free_.erase(free);
    waits_for_capture_ = false;
    return lease;
  }
  waits_for_capture_ = captured;
  return std::shared_ptr<DeviceLease>();
}

Result<bool> DeviceRing::mark_users(Free& free) {
  while (!free.unmarked.empty()) {
    const Result<DeviceEvent> event = events_.record(free.unmarked.back());
    if (!event.has_value() && event.error().is(Errc::stream_captured)) return false;
    if (!event.has_value()) return event.error();
    free.users.push_back(*event);
    free.unmarked.pop_back();
  }
  return true;
}

Result<void> DeviceRing::wait_for_users(Free& free) {
  for (; !free.users.empty(); free.users.pop_back()) {
    DOVETAIL_TRY(DeviceEvents::hold_back(copies_, free.users.back()));
    events_.give_back(free.users.back());
  }
  return {};
}

Result<void> DeviceRing::fill(DeviceLease& lease, ByteView from) try {
  DOVETAIL_TRY(wait_for_users(lease.slot_));
  DOVETAIL_TRY(cuda_result("cudaMemcpyAsync", cudaMemcpyAsync(lease.slab_, from.data(), from.size(),
                                                              cudaMemcpyHostToDevice, handle_of(copies_))));
  DOVETAIL_ASSIGN(const DeviceEvent copied, events_.record(copies_));
  lease.copied_ = copied;
  return {};
} catch (const std::exception& failure) {
  return Error::from_errno(ENOMEM, failure.what());
}

bool DeviceRing::finish_copies() noexcept {
  const OutsideCaptures outside;
  const cudaError_t status = cudaStreamSynchronize(handle_of(copies_));
  forget(status);
  return status == cudaSuccess;
}

void DeviceRing::on_release(std::function<void()> callback) {
  const std::lock_guard lock(callback_mutex_);
  callback_ = std::move(callback);
}

void DeviceRing::release(Free free) noexcept {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(free));
  }
  const std::lock_guard lock(callback_mutex_);
  if (callback_) callback_();
}

DeviceLease::DeviceLease(std::shared_ptr<DeviceRing> ring, std::uint32_t slab)
    : ring_(std::move(ring)), slab_(ring_->memory_ + slab * ring_->slab_bytes_) {}

DeviceLease::~DeviceLease() {
  if (process().forked()) {  // for example by a tensor
    leave_alone(std::move(ring_));
    return;
  }
  if (!users_.empty() && !process_ends()) {
    run_on_device(ring_->device_, [this](cudaError_t current) {
      for (const DeviceStream stream : users_) mark_user(stream, current == cudaSuccess);
    });
  }
  if (copied_.handle != nullptr) ring_->events_.give_back(copied_);
  if (handed_over_) --ring_->held_;
  ring_->release(std::move(slot_));
}

void DeviceLease::mark_user(DeviceStream stream, bool device_current) noexcept {
  try {
    if (device_current) {
      if (const Result<DeviceEvent> event = ring_->events_.record(stream); event.has_value()) {
        slot_.users.push_back(*event);  // `wait_on` has reserved room in both lists
        return;
      }
    }
  } catch (const std::exception&) {  // no memory for the error
  }
  slot_.unmarked.push_back(stream);
}

void DeviceLease::hand_over() noexcept {
  handed_over_ = true;
  ++ring_->held_;
}

Result<void> DeviceLease::wait_on(DeviceStream stream) try {
  const auto handle = static_cast<cudaStream_t>(stream.handle);
  if (handle == cudaStreamPerThread) {
    return Error(Errc::invalid_option,
                 "a batch cannot wait on cudaStreamPerThread, which differs between threads; give another stream");
  }
  Result<void> waits;
  run_on_device(ring_->device_, [&](cudaError_t current) { waits = wait_on_device(handle, current); });
  return waits;
} catch (const std::exception& failure) {
  return Error::from_errno(ENOMEM, failure.what());
}

bool DeviceLease::ready() const noexcept {
  return DeviceEvents::passed(copied_);
}

Result<void> DeviceLease::wait_on_device(void* stream, int current) noexcept try {
  DOVETAIL_TRY(cuda_result("cudaSetDevice", static_cast<cudaError_t>(current)));
  const auto handle = static_cast<cudaStream_t>(stream);
  DOVETAIL_TRY(outside_capture(handle));
  DOVETAIL_ASSIGN(const int device, device_of(handle));
  if (device != ring_->device_) {
    return Error(Errc::invalid_option, "the stream belongs to device " + std::to_string(device) +
                                           ", but the batch is on device " + std::to_string(ring_->device_));
  }
  const std::lock_guard lock(mutex_);
  const bool known =
      std::any_of(users_.begin(), users_.end(), [&](DeviceStream user) { return user.handle == stream; });
  slot_.users.reserve(users_.size() + 1);
  slot_.unmarked.reserve(users_.size() + 1);
  users_.reserve(users_.size() + 1);
  DOVETAIL_TRY(DeviceEvents::hold_back({stream}, copied_));
  if (!known) users_.push_back({stream});
  return {};
} catch (const std::exception& failure) {
  return Error::from_errno(ENOMEM, failure.what());
}

}  // namespace dovetail::detail
