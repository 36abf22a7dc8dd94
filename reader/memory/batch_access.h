// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dovetail/batch.h>
#include <dovetail/device_batch.h>

namespace dovetail::detail {

/// For who keeps a batch's memory beyond the batch.
struct BatchAccess {
  static std::shared_ptr<SlotLease> lease(const Batch& batch) { return batch.lease_; }
  static std::shared_ptr<DeviceLease> lease(const DeviceBatch& batch) { return batch.lease_; }
};

}  // namespace dovetail::detail
