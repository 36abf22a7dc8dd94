// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <dovetail/batch.h>
#include <dovetail/device_batch.h>
#include <dovetail/error.h>
#include <dovetail/export.h>

struct DLManagedTensor;  // of <dlpack/dlpack.h>, any version before 1.0's versioned tensors

namespace dovetail {

/// The part of a batch that becomes a tensor. All tensors are compact. They are read-only by
/// agreement, because DLPack cannot express it.
enum class BatchPart : std::uint8_t {
  values,  ///< uint8 [bytes of all rows, or of all columns].
  /// uint8 [rows, bytes of each]; only if all rows have the same size.
  rows,
  /// int64 [rows + 1], into `values`; zeros if these are columns.
  offsets,
  /// int64 [rows]; -1 if no record is planned. Signed, because few frameworks compute with uint64.
  ids,
  /// uint8 [rows], the numbers of `RowStatus`.
  status,
};

/// Returns a tensor over a part of a batch, without a copy. It is on the CPU device whether
/// registered or not, because frameworks detect page-locked memory by its address.
///
/// Ownership: the tensor shares the batch and its slot until its `deleter` is called. Whoever takes
///            the tensor must call it, once. The slot is free again when the last tensor and the
///            caller's own pointer are gone. Copies out of it must have ended by then.
/// Errors:    `invalid_option` for `rows` that differ in size, and for a batch that was released.
DOVETAIL_EXPORT Result<DLManagedTensor*> to_dlpack(std::shared_ptr<const Batch> batch, BatchPart part);

/// The same in device memory. Makes `stream` wait for the copy, as DLPack requires of an exporter.
/// `stream` is the one that the importer will use, and must exist until the deleter was called. The
/// slab then waits for the work in it.
/// Errors: as above, and those of `DeviceBatch::wait_on`.
DOVETAIL_EXPORT Result<DLManagedTensor*> to_dlpack(std::shared_ptr<DeviceBatch> batch, BatchPart part,
                                                   DeviceStream stream);

/// The part of a column that becomes a tensor.
enum class ColumnPart : std::uint8_t {
  /// [rows, shape...] of the column's dtype; for a ragged column [items, shape...]; for `bytes`
  /// uint8 [characters].
  values,
  /// int64 [rows + 1], of a ragged column.
  offsets,
  /// int64 [texts + 1], of a column of `bytes`.
  text_offsets,
};

/// Returns a tensor over a column of a batch that was read with columns. Everything else is as for
/// the parts of a batch.
/// Errors: `invalid_option` for a column or a part that does not exist, and for a batch that was
///         released.
DOVETAIL_EXPORT Result<DLManagedTensor*> to_dlpack(std::shared_ptr<const Batch> batch, std::string_view column,
                                                   ColumnPart part = ColumnPart::values);
DOVETAIL_EXPORT Result<DLManagedTensor*> to_dlpack(std::shared_ptr<DeviceBatch> batch, std::string_view column,
                                                   ColumnPart part, DeviceStream stream);

}  // namespace dovetail
