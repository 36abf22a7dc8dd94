// SPDX-License-Identifier: Apache-2.0
// Memory and copies of the emulated CUDA runtime.
#include <cstring>

#include "tests/cuda/emulated_state.h"

using namespace dovetail::test::emulated_cuda::detail;

namespace {

bool is_device_memory(const State::Place& place) {
  return place.range.has_value() && place.range->kind == Range::Kind::device;
}

/// Whether the kind of a copy is true of its pointers.
bool fits(cudaMemcpyKind kind, bool from_device, bool to_device) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return !from_device && !to_device;
    case cudaMemcpyHostToDevice:
      return !from_device && to_device;
    case cudaMemcpyDeviceToHost:
      return from_device && !to_device;
    case cudaMemcpyDeviceToDevice:
      return from_device && to_device;
    case cudaMemcpyDefault:
      return true;
  }
  return false;
}

/// What a copy is, as far as the caller can tell.
struct Way {
  cudaError_t status = cudaSuccess;
  bool staged = false;       ///< The bytes are taken at the call.
  bool synchronous = false;  ///< The call returns once they are there.
};

Way way_of(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return {.status = cudaErrorInvalidMemcpyDirection};
  if (to == nullptr || from == nullptr) return {.status = cudaErrorInvalidValue};
  const State::Place source = State::get().place_of(from, bytes);
  const State::Place target = State::get().place_of(to, bytes);
  const bool from_device = is_device_memory(source);
  const bool to_device = is_device_memory(target);
  if (!source.whole || !target.whole || !fits(kind, from_device, to_device)) return {.status = cudaErrorInvalidValue};
  return {.staged = !source.range.has_value() && to_device,
          .synchronous = !to_device && (!from_device || !target.range.has_value())};
}

cudaError_t allocate_into(void** begin, std::size_t bytes, Range::Kind kind) {
  if (begin == nullptr) return cudaErrorInvalidValue;
  *begin = nullptr;
  if (bytes == 0) return cudaSuccess;
  const int device = this_thread().device;
  if (bytes > kDeviceBytes - State::get().bytes_of(kind, device)) return cudaErrorMemoryAllocation;
  void* const memory = allocate(bytes, kind);
  if (memory == nullptr) return cudaErrorMemoryAllocation;
  State::get().add_range(memory, {.kind = kind, .bytes = bytes, .device = device});
  *begin = memory;
  return cudaSuccess;
}

/// Null is freed already.
cudaError_t free_from(void* begin, Range::Kind kind) {
  if (begin == nullptr) return cudaSuccess;
  const auto range = State::get().range_beginning(begin);
  if (!range.has_value() || range->kind != kind) return cudaErrorInvalidValue;
  if (const cudaError_t status = wait_for_device(range->device); status != cudaSuccess) return status;
  if (!State::get().remove_range(begin, kind)) return cudaErrorInvalidValue;
  release(begin, kind);
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMalloc(void** begin, std::size_t bytes) {
  return call_unsafe("cudaMalloc", [&] { return allocate_into(begin, bytes, Range::Kind::device); });
}

cudaError_t cudaFree(void* begin) {
  return call_unsafe("cudaFree", [&] { return free_from(begin, Range::Kind::device); });
}

cudaError_t cudaMallocHost(void** begin, std::size_t bytes) {
  return call_unsafe("cudaMallocHost", [&] { return allocate_into(begin, bytes, Range::Kind::host_allocated); });
}

cudaError_t cudaHostAlloc(void** begin, std::size_t bytes, unsigned int flags) {
  return call_unsafe("cudaHostAlloc", [&] {
    constexpr unsigned kKnown = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    if ((flags & ~kKnown) != 0) return cudaErrorInvalidValue;
    return allocate_into(begin, bytes, Range::Kind::host_allocated);
  });
}

cudaError_t cudaFreeHost(void* begin) {
  return call_unsafe("cudaFreeHost", [&] { return free_from(begin, Range::Kind::host_allocated); });
}

cudaError_t cudaHostRegister(void* begin, std::size_t bytes, unsigned int flags) {
  return call_unsafe("cudaHostRegister", [&] {
    constexpr unsigned kKnown =
        cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
    if (begin == nullptr || bytes == 0 || (flags & ~kKnown) != 0) return cudaErrorInvalidValue;
    const Range range = {.kind = Range::Kind::registered, .bytes = bytes, .device = this_thread().device};
    return State::get().add_range(begin, range) ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
  });
}

cudaError_t cudaHostUnregister(void* begin) {
  return call_unsafe("cudaHostUnregister", [&] {
    if (begin == nullptr) return cudaErrorInvalidValue;
    return State::get().remove_range(begin, Range::Kind::registered) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return call("cudaPointerGetAttributes", [&] {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    *attributes = {};
    void* const address = const_cast<void*>(pointer);
    const State::Place place = State::get().place_of(pointer, 1);
    if (!place.range.has_value()) {
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = cudaInvalidDeviceId;
      attributes->hostPointer = address;
      return cudaSuccess;
    }
    const bool on_device = is_device_memory(place);
    attributes->type = on_device ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
    attributes->device = place.range->device;
    attributes->devicePointer = address;
    attributes->hostPointer = on_device ? nullptr : address;
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call("cudaMemGetInfo", [&] {
    *total = kDeviceBytes;
    *free = kDeviceBytes - State::get().bytes_of(Range::Kind::device, this_thread().device);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&] {
    const auto found = State::get().stream(stream);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    if (bytes == 0) return cudaSuccess;
    const Way way = way_of(to, from, bytes, kind);
    if (way.status != cudaSuccess) return way.status;
    if (const auto capture = State::get().captures.of(*found)) return capture->take();
    std::shared_ptr<std::byte[]> staged;
    if (way.staged) {
      staged = std::make_shared<std::byte[]>(bytes);
      std::memcpy(staged.get(), from, bytes);
    }
    std::uint64_t number = 0;
    const cudaError_t status = found->submit(
        [=, delay = State::get().copy_delay.load()](Stream& self) {
          if (self.hold_for(delay)) std::memmove(to, staged != nullptr ? staged.get() : from, bytes);
        },
        &number);
    return status == cudaSuccess && way.synchronous ? found->wait(number) : status;
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return call_unsafe("cudaMemcpy", [&] {
    if (bytes == 0) return cudaSuccess;
    const Way way = way_of(to, from, bytes, kind);
    if (way.status != cudaSuccess) return way.status;
    const auto stream = State::get().stream(nullptr);
    std::uint64_t number = 0;
    const cudaError_t status = stream->submit([=](Stream&) { std::memmove(to, from, bytes); }, &number);
    return status == cudaSuccess ? stream->wait(number) : status;
  });
}
