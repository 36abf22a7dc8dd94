// SPDX-License-Identifier: Apache-2.0
// All that differs between the versions of CUDA which the library is built with, 11.8 to 13.
#pragma once

#include <cuda_runtime_api.h>

#include <dovetail/error.h>

namespace dovetail::detail {

/// The device of a stream; for a default stream and that of a thread, the current one.
/// Errors: `device_failed`, by the name of the call.
Result<int> device_of(cudaStream_t stream);

/// The same without what came with CUDA 12.8.
Result<int> device_of_by_driver(cudaStream_t stream);

// Failures that a driver may tell although the toolkit of the build has no name for them yet.
inline constexpr auto kErrorContained = static_cast<cudaError_t>(226);
inline constexpr auto kErrorTensorMemoryLeak = static_cast<cudaError_t>(721);
#if CUDART_VERSION >= 13000
static_assert(kErrorContained == cudaErrorContained && kErrorTensorMemoryLeak == cudaErrorTensorMemoryLeak);
#endif

}  // namespace dovetail::detail
