// SPDX-License-Identifier: Apache-2.0
#include "bench/transfer_spin.h"

namespace dovetail::bench {

namespace {

// Cycles and not %globaltimer, whose steps may be as long as a small batch takes.
__global__ void spin(long long cycles) {
  const long long began = clock64();
  while (clock64() - began < cycles) {
  }
}

}  // namespace

cudaError_t launch_spin(long long cycles, cudaStream_t stream) {
  spin<<<1, 1, 0, stream>>>(cycles);
  return cudaGetLastError();
}

}  // namespace dovetail::bench
