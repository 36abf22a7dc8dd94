// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <deque>
#include <vector>

namespace cuda_trainer {

/// Adds up how long kernels ran, without ever making the stream or the thread wait: an event before
/// and one behind each, read some launches later, when both have passed.
///
/// Threads: none.
class KernelClock {
 public:
  KernelClock() = default;
  KernelClock(const KernelClock&) = delete;
  KernelClock& operator=(const KernelClock&) = delete;
  ~KernelClock();

  /// The next kernel of the stream begins here: behind what it has to wait for, which does not
  /// count.
  void begin(cudaStream_t stream);
  void end(cudaStream_t stream);

  /// Of all kernels since the last call. Needs: the stream has run all of them.
  double take_seconds();

 private:
  struct Pair {
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
  };
  static Pair make();
  void read_oldest();

  std::deque<Pair> running_;
  std::vector<Pair> spare_;
  double seconds_ = 0;
};

}  // namespace cuda_trainer
