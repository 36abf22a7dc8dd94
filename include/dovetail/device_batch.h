// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <dovetail/batch.h>
#include <dovetail/device_stream.h>
#include <dovetail/error.h>
#include <dovetail/export.h>
#include <dovetail/order.h>
#include <dovetail/state.h>

namespace dovetail {

class DeviceReader;

namespace detail {
struct BatchAccess;
struct BatchColumns;
class DeviceLease;
}  // namespace detail

/// One column of a device batch. The pointers are device pointers.
struct DOVETAIL_EXPORT DeviceColumn {
  const Column* column = nullptr;
  const std::byte* values = nullptr;
  std::size_t value_bytes = 0;
  /// `rows + 1` offsets of a ragged column; else null.
  const std::int64_t* offsets = nullptr;
  /// `texts + 1` offsets of a column of `bytes`; else null.
  const std::int64_t* text_offsets = nullptr;
  std::size_t texts = 0;
};

/// The rows of one rank in one step, in the memory of a device: the slab of a `Batch`, copied
/// unchanged.
///
/// The copy may still run when the batch is handed over. Work on a stream may read the batch after
/// `wait_on(stream)`, which makes the stream wait, not the thread.
///
/// Ownership: a lease. The batch keeps the memory alive and may outlive the reader. Every pointer
///            is a device pointer, and invalid after the batch. The last owner of the memory, a
///            reader or a batch, waits for everything that still uses it. The slab is refilled only
///            after all work that was in the streams of `wait_on` when the batch was released or
///            destroyed. These streams must still exist then. A stream that is being captured then
///            must exist until the capture has ended and the slab is used again.
/// Threads:   move-only; const calls may run concurrently. `wait_on` and `release` may be called
///            with any device current.
class DOVETAIL_EXPORT DeviceBatch {
 public:
  DeviceBatch(DeviceBatch&&) noexcept;
  DeviceBatch& operator=(DeviceBatch&&) noexcept;
  ~DeviceBatch();

  /// Device number, as in CUDA.
  int device() const noexcept;
  std::uint32_t epoch() const noexcept { return epoch_; }
  /// In [0, steps(epoch)).
  std::uint64_t step() const noexcept { return step_; }
  /// As `Batch::position_after`.
  Position position_after() const noexcept { return {epoch_, step_ + 1}; }
  /// As `Batch::state`. Not after a move.
  State state() const;
  std::uint32_t rows() const noexcept { return rows_; }
  /// As `Batch::valid`.
  std::uint32_t valid() const noexcept { return valid_; }

  // Device pointers. Row i is [values() + offsets()[i], values() + offsets()[i + 1]) there.

  const std::int64_t* offsets() const noexcept;  ///< `rows() + 1`.
  /// `rows()`; `kNoId` if no record is planned.
  const std::uint64_t* ids() const noexcept;
  const RowStatus* status() const noexcept;  ///< `rows()`.
  const std::byte* values() const noexcept;  ///< `value_bytes()`.
  std::size_t value_bytes() const noexcept { return value_bytes_; }
  /// Bytes of every row if all rows have the same size, else 0.
  std::size_t row_bytes() const noexcept { return row_bytes_; }
  /// All parts as one region, laid out as in `layout()`.
  const std::byte* slab() const noexcept;
  std::size_t slab_bytes() const noexcept { return slab_ == nullptr ? 0 : layout().values + value_bytes_; }
  SlabLayout layout() const noexcept { return SlabLayout::for_rows(rows_); }

  /// As in `Batch`. The schema and the layout are in host memory.
  const Schema* schema() const noexcept;
  const ColumnLayout* column_layout() const noexcept;
  /// Column `i` of the schema. Needs: a schema with more than `i` columns.
  DeviceColumn column(std::size_t i) const noexcept;
  std::optional<DeviceColumn> column(std::string_view name) const noexcept;

  /// Makes `stream`, a stream of this device, wait for the copy; the slab then waits for that
  /// stream. Returns at once. Null is the default stream of this device. `cudaStreamPerThread`,
  /// which is another stream on each thread, is refused.
  /// Errors: `invalid_option` for a stream of another device, `stream_captured`, `device_failed`,
  ///         `closed`.
  Result<void> wait_on(DeviceStream stream);
  /// Whether the copy has ended. Always false after the device has failed.
  bool ready() const noexcept;

  /// Returns the slab before destruction and, like destruction, does not wait. `rows()` is 0 from
  /// here on.
  void release() noexcept;

 private:
  friend class DeviceReader;
  friend struct detail::BatchAccess;
  DeviceBatch();

  std::shared_ptr<detail::DeviceLease> lease_;
  std::shared_ptr<const State> state_;
  std::shared_ptr<const detail::BatchColumns> columns_;
  const std::byte* slab_ = nullptr;
  std::size_t value_bytes_ = 0;
  std::size_t row_bytes_ = 0;
  std::uint64_t step_ = 0;
  std::uint32_t epoch_ = 0;
  std::uint32_t rows_ = 0;
  std::uint32_t valid_ = 0;
};

}  // namespace dovetail
