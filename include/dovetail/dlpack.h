// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <dovetail/batch.h>
#include <dovetail/device_batch.h>
#include <dovetail/error.h>

struct DLManagedTensor;  // of <dlpack/dlpack.h>, any version before 1.0's versioned tensors

namespace dovetail {

/// What of a batch becomes a tensor. All are compact, and read-only by agreement: DLPack cannot say so.
enum class BatchPart : std::uint8_t {
  values,   ///< uint8 [bytes of all rows, or of all columns].
  rows,     ///< uint8 [rows, bytes of each]; only where all rows have the same size.
  offsets,  ///< int64 [rows + 1], into `values`; zeros where these are columns.
  ids,      ///< int64 [rows]; -1 where no record is planned. Signed, because few frameworks compute with uint64.
  status,   ///< uint8 [rows], the numbers of `RowStatus`.
};

/// A tensor over a part of a batch, without a copy; on the CPU device whether registered or not, because frameworks know
/// page-locked memory by its address.
///
/// Ownership: the tensor shares the batch and its slot until its `deleter` is called, which whoever takes it must do, once.
///            The slot is free again when the last tensor and the caller's own pointer are gone; copies out of it must have
///            ended.
/// Errors:    `invalid_option` for `rows` that differ in size, and for a batch that was released.
Result<DLManagedTensor*> to_dlpack(std::shared_ptr<const Batch> batch, BatchPart part);

/// The same in the memory of the device. Makes `stream` wait for the copy, as DLPack wants it from who exports: the stream
/// that the importer will use, which must exist until the deleter was called. The slab then waits for what is in it.
/// Errors: as above, and those of `DeviceBatch::wait_on`.
Result<DLManagedTensor*> to_dlpack(std::shared_ptr<DeviceBatch> batch, BatchPart part, DeviceStream stream);

/// What of a column becomes a tensor.
enum class ColumnPart : std::uint8_t {
  values,  ///< [rows, shape...] of the column's dtype; of a ragged one [items, shape...]; of `bytes` uint8 [characters].
  offsets,       ///< int64 [rows + 1], of a ragged column.
  text_offsets,  ///< int64 [texts + 1], of a column of `bytes`.
};

/// A tensor over a column of a batch that was read with columns; all else as for the parts of a batch.
/// Errors: `invalid_option` for a column or a part that is not there, and for a batch that was released.
Result<DLManagedTensor*> to_dlpack(std::shared_ptr<const Batch> batch, std::string_view column,
                                   ColumnPart part = ColumnPart::values);
Result<DLManagedTensor*> to_dlpack(std::shared_ptr<DeviceBatch> batch, std::string_view column, ColumnPart part,
                                   DeviceStream stream);

}  // namespace dovetail
