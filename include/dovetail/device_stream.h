// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/export.h>

namespace dovetail {

/// A CUDA stream, as a handle of the runtime or the driver (`cudaStream_t`, `CUstream`), so that
/// these headers need no CUDA. Null is a default stream; each function names its device.
struct DOVETAIL_EXPORT DeviceStream {
  void* handle = nullptr;
};

}  // namespace dovetail
