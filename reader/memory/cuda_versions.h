// SPDX-License-Identifier: Apache-2.0
// All that differs between the versions of CUDA which the library is built with, 11.8 to 13.
#pragma once

#include <cuda_runtime_api.h>

#include <dovetail/error.h>

namespace dovetail::detail {

/// The device of a stream; for the default stream and the per-thread stream, the current device.
/// Errors: `device_failed`, which names the call.
Result<int> device_of(cudaStream_t stream);

/// The same without the call that CUDA 12.8 introduced.
Result<int> device_of_by_driver(cudaStream_t stream);

// Failures that a driver may return although the toolkit of this build has no names for them.
inline constexpr auto kErrorContained = static_cast<cudaError_t>(226);
inline constexpr auto kErrorTensorMemoryLeak = static_cast<cudaError_t>(721);
#if CUDART_VERSION >= 13000
static_assert(kErrorContained == cudaErrorContained && kErrorTensorMemoryLeak == cudaErrorTensorMemoryLeak);
#endif

}  // namespace dovetail::detail
