// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace cuda_trainer {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { (void)cudaStreamDestroy(handle_); }
  cudaStream_t handle() const noexcept { return handle_; }
  void finish() const { check(cudaStreamSynchronize(handle_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t handle_ = nullptr;
};

struct FreeOnDevice {
  void operator()(void* memory) const noexcept { (void)cudaFree(memory); }
};
struct FreeOnHost {
  void operator()(void* memory) const noexcept { (void)cudaFreeHost(memory); }
};
template <class T>
using DeviceArray = std::unique_ptr<T[], FreeOnDevice>;
/// Page-locked, so that copies to it are asynchronous.
template <class T>
using HostArray = std::unique_ptr<T[], FreeOnHost>;

template <class T>
DeviceArray<T> device_array(std::size_t count) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
  return DeviceArray<T>(static_cast<T*>(memory));
}

template <class T>
HostArray<T> host_array(std::size_t count) {
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, count * sizeof(T), cudaHostAllocDefault), "cudaHostAlloc");
  return HostArray<T>(static_cast<T*>(memory));
}

}  // namespace cuda_trainer
