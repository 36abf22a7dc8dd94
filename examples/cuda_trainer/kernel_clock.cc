// SPDX-License-Identifier: Apache-2.0
#include "kernel_clock.h"

#include <utility>

#include "runtime.h"

namespace cuda_trainer {

KernelClock::~KernelClock() {
  spare_.insert(spare_.end(), running_.begin(), running_.end());
  for (const Pair& pair : spare_) {
    (void)cudaEventDestroy(pair.begin);
    (void)cudaEventDestroy(pair.end);
  }
}

KernelClock::Pair KernelClock::make() {
  Pair pair;
  check(cudaEventCreate(&pair.begin), "cudaEventCreate");
  check(cudaEventCreate(&pair.end), "cudaEventCreate");
  return pair;
}

void KernelClock::begin(cudaStream_t stream) {
  while (!running_.empty()) {
    const cudaError_t passed = cudaEventQuery(running_.front().end);
    if (passed == cudaErrorNotReady) {
      (void)cudaGetLastError();  // or the next launch would seem to have failed
      break;
    }
    check(passed, "cudaEventQuery");
    read_oldest();
  }
  if (spare_.empty()) spare_.push_back(make());
  running_.push_back(spare_.back());
  spare_.pop_back();
  check(cudaEventRecord(running_.back().begin, stream), "cudaEventRecord");
}

void KernelClock::end(cudaStream_t stream) {
  check(cudaEventRecord(running_.back().end, stream), "cudaEventRecord");
}

void KernelClock::read_oldest() {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, running_.front().begin, running_.front().end), "cudaEventElapsedTime");
  seconds_ += static_cast<double>(milliseconds) / 1e3;
  spare_.push_back(running_.front());
  running_.pop_front();
}

double KernelClock::take_seconds() {
  while (!running_.empty()) read_oldest();
  return std::exchange(seconds_, 0);
}

}  // namespace cuda_trainer
