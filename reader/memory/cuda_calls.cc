// SPDX-License-Identifier: Apache-2.0
#include "reader/memory/cuda_calls.h"

#include <atomic>
#include <cstdlib>
#include <system_error>
#include <thread>

namespace dovetail::detail {

namespace {

std::atomic<bool> ending = false;

}  // namespace

void run_on_device(int device, const std::function<void()>& work) noexcept {
  int current = -1;
  const cudaError_t status = cudaGetDevice(&current);
  forget(status);
  if (status == cudaSuccess && current == device) return work();
  try {
    std::thread([&] {
      forget(cudaSetDevice(device));
      work();
    }).join();
  } catch (const std::system_error&) {  // no more threads: then with the context
    const DeviceScope scope(device);
    work();
  }
}

void watch_for_end_of_process() noexcept {
  static const int registered = std::atexit([] { ending = true; });
  (void)registered;
}

bool process_ends() noexcept {
  return ending;
}

}  // namespace dovetail::detail
