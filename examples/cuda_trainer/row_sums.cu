// SPDX-License-Identifier: Apache-2.0
#include "row_sums.h"

namespace cuda_trainer {

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarp = 32;

/// Mixes the byte with its place, so that bytes that change places are noticed, and with the pass,
/// so that no compiler makes one pass out of many.
__host__ __device__ std::uint64_t mixed(std::uint32_t byte, std::uint32_t at, std::uint32_t pass) {
  std::uint32_t word = (byte + 1) * 0x9E3779B1u + at * 0x85EBCA77u + pass * 0xC2B2AE3Du;
  word ^= word >> 15;
  word *= 0x2C1B3C6Du;
  word ^= word >> 12;
  return word;
}

/// One block of threads for each row.
__global__ void __launch_bounds__(kThreads) row_sums(Rows rows, RowSums out, std::uint32_t work) {
  const std::uint32_t row = blockIdx.x;
  const std::int64_t begin = rows.offsets[row];
  const std::int64_t bytes = rows.offsets[row + 1] - begin;
  const std::byte* const values = rows.values + begin;
  unsigned long long sum = 0;
  for (std::uint32_t pass = 0; pass < work; ++pass) {
    for (std::int64_t at = threadIdx.x; at < bytes; at += blockDim.x) {
      sum += mixed(static_cast<std::uint32_t>(values[at]), static_cast<std::uint32_t>(at), pass);
    }
  }
  for (unsigned distance = kWarp / 2; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(0xFFFFFFFFu, sum, distance);
  }
  __shared__ unsigned long long of_warps[kThreads / kWarp];
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned warp = 1; warp < kThreads / kWarp; ++warp) sum += of_warps[warp];
  out.sums[row] = sum;
  out.ids[row] = rows.ids[row];
}

}  // namespace

cudaError_t launch_row_sums(const Rows& rows, const RowSums& out, std::uint32_t work, cudaStream_t stream) {
  row_sums<<<rows.count, kThreads, 0, stream>>>(rows, out, work);
  return cudaGetLastError();
}

std::uint64_t row_sum(const std::byte* row, std::size_t bytes, std::uint32_t work) {
  std::uint64_t sum = 0;
  for (std::uint32_t pass = 0; pass < work; ++pass) {
    for (std::size_t at = 0; at < bytes; ++at) {
      sum += mixed(static_cast<std::uint32_t>(row[at]), static_cast<std::uint32_t>(at), pass);
    }
  }
  return sum;
}

}  // namespace cuda_trainer
