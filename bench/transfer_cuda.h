// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dovetail::bench {

inline void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}

/// What is needed of the runtime here; each owns what it made.
class CudaStream {
 public:
  CudaStream() { check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() { (void)cudaStreamDestroy(handle_); }

  cudaStream_t handle() const noexcept { return handle_; }
  void finish() const { check(cudaStreamSynchronize(handle_), "cudaStreamSynchronize"); }
  void wait_for(cudaEvent_t event) const { check(cudaStreamWaitEvent(handle_, event, 0), "cudaStreamWaitEvent"); }

 private:
  cudaStream_t handle_ = nullptr;
};

class CudaEvents {
 public:
  /// With `cudaEventDisableTiming` or `cudaEventDefault`.
  CudaEvents(std::size_t count, unsigned flags) : events_(count) {
    for (cudaEvent_t& event : events_) check(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags");
  }
  CudaEvents(const CudaEvents&) = delete;
  CudaEvents& operator=(const CudaEvents&) = delete;
  ~CudaEvents() {
    for (const cudaEvent_t event : events_) (void)cudaEventDestroy(event);
  }

  cudaEvent_t operator[](std::size_t i) const { return events_[i]; }
  void record(std::size_t i, const CudaStream& stream) const {
    check(cudaEventRecord(events_[i], stream.handle()), "cudaEventRecord");
  }
  /// Needs: both have passed, and were made with timing.
  double seconds(std::size_t from, std::size_t to) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events_[from], events_[to]), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) / 1e3;
  }

 private:
  std::vector<cudaEvent_t> events_;
};

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes), "cudaMalloc");
    memory_ = static_cast<std::byte*>(memory);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { (void)cudaFree(memory_); }
  std::byte* data() const noexcept { return memory_; }

 private:
  std::byte* memory_ = nullptr;
};

}  // namespace dovetail::bench
