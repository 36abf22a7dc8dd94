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
#include <dovetail/order.h>
#include <dovetail/state.h>

namespace dovetail {

class DeviceReader;

namespace detail {
struct BatchAccess;
struct BatchColumns;
class DeviceLease;
}  // namespace detail

/// One column of a device batch. The pointers are the device's.
struct DeviceColumn {
  const Column* column = nullptr;
  const std::byte* values = nullptr;
  std::size_t value_bytes = 0;
  const std::int64_t* offsets = nullptr;       ///< `rows + 1`, of a ragged column; else null.
  const std::int64_t* text_offsets = nullptr;  ///< `texts + 1`, of a column of `bytes`; else null.
  std::size_t texts = 0;
};

/// One step's rows of one rank in the memory of a device: the slab of a `Batch`, copied as it was.
///
/// The copy may still be under way when the batch is handed over. Work on a stream may read it after `wait_on(stream)`,
/// which makes the stream wait, not the thread.
///
/// Ownership: a lease. The slab is filled again only after all work that was in the streams of `wait_on` when the batch
///            was released or destroyed; these streams must still exist then, and one that is captured then until the capture has
///            ended and the slab is used again. It keeps the memory alive and may outlive the
///            reader. Every pointer is one of the device, void with the batch. The last owner of the memory, be it a reader
///            or a batch, waits for what still uses it.
/// Threads:   move-only; const calls may run concurrently. `wait_on` and `release` may be called with any device current.
class DeviceBatch {
 public:
  DeviceBatch(DeviceBatch&&) noexcept;
  DeviceBatch& operator=(DeviceBatch&&) noexcept;
  ~DeviceBatch();

  /// The number of the device, as CUDA counts them.
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

  // Pointers of the device; row i is [values() + offsets()[i], values() + offsets()[i + 1]) there.

  const std::int64_t* offsets() const noexcept;  ///< `rows() + 1`.
  const std::uint64_t* ids() const noexcept;     ///< `rows()`; `kNoId` where no record is planned.
  const RowStatus* status() const noexcept;      ///< `rows()`.
  const std::byte* values() const noexcept;      ///< `value_bytes()`.
  std::size_t value_bytes() const noexcept { return value_bytes_; }
  /// Bytes of every row where all have the same, else 0.
  std::size_t row_bytes() const noexcept { return row_bytes_; }
  /// All parts as one region, laid out as `layout()` says.
  const std::byte* slab() const noexcept;
  std::size_t slab_bytes() const noexcept { return slab_ == nullptr ? 0 : layout().values + value_bytes_; }
  SlabLayout layout() const noexcept { return SlabLayout::for_rows(rows_); }

  /// As those of `Batch`; the schema and the layout are in the memory of the host.
  const Schema* schema() const noexcept;
  const ColumnLayout* column_layout() const noexcept;
  /// Needs: a schema with so many columns.
  DeviceColumn column(std::size_t i) const noexcept;
  std::optional<DeviceColumn> column(std::string_view name) const noexcept;

  /// Makes `stream`, of this device, wait for the copy; the slab then waits for that stream. Returns at once. Null is the
  /// default stream of this device. `cudaStreamPerThread`, another stream on each thread, is refused.
  /// Errors: `invalid_option` for a stream of another device, `stream_captured`, `device_failed`, `closed`.
  Result<void> wait_on(DeviceStream stream);
  /// Whether the copy has ended; false for ever where the device has failed.
  bool ready() const noexcept;

  /// Gives the slab back before destruction; as that, it waits for nothing. `rows()` is 0 from here on.
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
