// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace cuda_trainer {

/// Rows of a batch in the memory of a device.
struct Rows {
  const std::byte* values = nullptr;
  const std::int64_t* offsets = nullptr;  ///< `count + 1`.
  const std::uint64_t* ids = nullptr;
  std::uint32_t count = 0;
};

/// What is left of a batch, in the memory of a device too.
struct RowSums {
  std::uint64_t* ids = nullptr;
  std::uint64_t* sums = nullptr;
};

/// What a trainer would do with a batch, in small: one number out of every byte of each row, over
/// and over again `work` times. Returns when the kernel is in the stream.
cudaError_t launch_row_sums(const Rows& rows, const RowSums& out, std::uint32_t work, cudaStream_t stream);

/// The same number on the host.
std::uint64_t row_sum(const std::byte* row, std::size_t bytes, std::uint32_t work);

}  // namespace cuda_trainer
