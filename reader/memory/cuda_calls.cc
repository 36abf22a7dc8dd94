// SPDX-License-Identifier: Apache-2.0
#include "reader/memory/cuda_calls.h"

#include <atomic>
#include <cstdlib>
#include <exception>
#include <thread>

namespace dovetail::detail {

namespace {

std::atomic<bool> ending = false;

}  // namespace

void run_on_device(int device, const std::function<void(cudaError_t)>& work) noexcept {
  int current = -1;
  const cudaError_t status = cudaGetDevice(&current);
  forget(status);
  if (status == cudaSuccess && current == device) return work(cudaSuccess);
  const auto make_current = [&] {
    const cudaError_t made = cudaSetDevice(device);
    forget(made);
    work(made);
  };
  std::thread thread;
  try {
    thread = std::thread(make_current);
  } catch (const std::exception&) {
    // No more threads: use this thread, which creates a context for its device.
    make_current();
    forget(cudaSetDevice(current));
    return;
  }
  thread.join();
}

void watch_for_end_of_process() noexcept {
  static const int registered = std::atexit([] { ending = true; });
  (void)registered;
}

bool process_ends() noexcept {
  return ending;
}

}  // namespace dovetail::detail
