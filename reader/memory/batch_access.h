// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <dovetail/batch.h>
#include <dovetail/device_batch.h>

namespace dovetail::detail {

/// Access to the memory of a batch, for code that keeps this memory longer than the batch.
struct BatchAccess {
  static std::shared_ptr<SlotLease> lease(const Batch& batch) { return batch.lease_; }
  static std::shared_ptr<DeviceLease> lease(const DeviceBatch& batch) { return batch.lease_; }
  static const BatchColumns* columns(const Batch& batch) noexcept { return batch.columns_; }
  static const BatchColumns* columns(const DeviceBatch& batch) noexcept { return batch.columns_.get(); }
};

/// The bytes of every row, if all rows have the same number; else 0. Also 0 if the values are
/// columns.
inline std::size_t row_bytes(const Batch& batch) noexcept {
  const std::span<const std::int64_t> offsets = batch.offsets();
  for (std::uint32_t row = 1; row < batch.rows(); ++row) {
    if (offsets[row + 1] - offsets[row] != offsets[1]) return 0;
  }
  return batch.rows() == 0 ? 0 : static_cast<std::size_t>(offsets[1]);
}

}  // namespace dovetail::detail
