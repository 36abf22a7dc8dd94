// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dovetail {

/// A CUDA stream, as the handle of the runtime or the driver (`cudaStream_t`, `CUstream`), so that these headers need no
/// CUDA. Null is the default stream of the device that is current on the calling thread; a stream must belong to that
/// device, as for a kernel launch.
struct DeviceStream {
  void* handle = nullptr;
};

}  // namespace dovetail
