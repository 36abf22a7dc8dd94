// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

namespace dovetail::bench {

/// One thread of the device that does nothing for so many of its clock cycles. Returns when the
/// kernel is in the stream.
cudaError_t launch_spin(long long cycles, cudaStream_t stream);

}  // namespace dovetail::bench
