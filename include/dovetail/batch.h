// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <dovetail/bytes.h>
#include <dovetail/columns.h>
#include <dovetail/device_stream.h>
#include <dovetail/error.h>
#include <dovetail/export.h>
#include <dovetail/order.h>
#include <dovetail/state.h>

namespace dovetail {

namespace detail {
struct BatchAccess;
struct BatchColumns;
class SlotLease;
}  // namespace detail

/// Offsets of the parts of a batch in its slab, in bytes. Each part begins at a multiple of 256.
struct DOVETAIL_EXPORT SlabLayout {
  static constexpr std::size_t kAlignment = 256;

  std::size_t offsets = 0;  ///< int64[rows + 1]
  std::size_t ids = 0;      ///< uint64[rows]
  std::size_t status = 0;   ///< uint8[rows]
  /// The bytes of the rows, or the columns. Last, because their size differs from batch to batch.
  std::size_t values = 0;

  static constexpr SlabLayout for_rows(std::size_t rows) noexcept {
    constexpr auto up = [](std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; };
    SlabLayout layout;
    layout.ids = up((rows + 1) * sizeof(std::int64_t));
    layout.status = layout.ids + up(rows * sizeof(std::uint64_t));
    layout.values = layout.status + up(rows);
    return layout;
  }
};

/// The rows of one rank in one step, in one slab of a slot. A single copy moves it to a device.
///
/// Shapes:    `rows()` is always the batch size of the plan. Row i is `values()[offsets()[i],
///            offsets()[i + 1])`. With `ReaderOptions::columns`, `values()` holds the columns, with
///            zeros between them, and rows have no bytes.
/// Ownership: a lease. The slot is refilled only after the batch, and all others in the slot, are
///            released or destroyed. The batch keeps the memory alive and may outlive the reader.
///            Views into it end with it.
/// Threads:   move-only; const calls may run concurrently.
class DOVETAIL_EXPORT Batch {
 public:
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  ~Batch();

  std::uint32_t epoch() const noexcept { return epoch_; }
  /// In [0, steps(epoch)).
  std::uint64_t step() const noexcept { return step_; }
  /// Where a reader continues after this batch. After the last step it is (epoch, steps).
  Position position_after() const noexcept { return {epoch_, step_ + 1}; }
  /// Checkpoint of the data after this batch, the same on every rank. Not after a move.
  State state() const;

  std::uint32_t rows() const noexcept { return rows_; }
  /// Rows with status `first`: each is a record that counts, once.
  std::uint32_t valid() const noexcept { return valid_; }

  std::span<const std::int64_t> offsets() const noexcept {
    return part<std::int64_t>(layout().offsets, std::size_t{rows_} + 1);
  }
  /// The planned record of each row, even if it is damaged; `kNoId` if none is planned. The id of a
  /// record is its place in the dataset, from 0, in the order of writing (`Dataset::locate`). A
  /// name of yours belongs in the record.
  std::span<const std::uint64_t> ids() const noexcept { return part<std::uint64_t>(layout().ids, rows_); }
  std::span<const RowStatus> status() const noexcept { return part<RowStatus>(layout().status, rows_); }
  ByteView values() const noexcept;
  /// Needs: `i < rows()`.
  ByteView row(std::uint32_t i) const noexcept {
    const std::int64_t* const ends = offsets().data() + i;
    return {slab_ + layout().values + ends[0], static_cast<std::size_t>(ends[1] - ends[0])};
  }
  /// The same bytes as characters.
  std::string_view text(std::uint32_t i) const noexcept { return as_chars(row(i)); }

  /// `for (ByteView row : batch)`: all rows. Rows without a record are empty.
  class RowIterator;
  RowIterator begin() const noexcept;
  RowIterator end() const noexcept;

  /// The columns in `values()`; null if it holds the bytes of rows.
  const Schema* schema() const noexcept;
  /// Offsets of the columns, relative to `values()`; null without columns.
  const ColumnLayout* column_layout() const noexcept;
  /// Column `i` of the schema. A row without a record (see `status()`) is zeros, and empty in
  /// ragged columns and texts. Needs: a schema with more than `i` columns.
  ColumnView column(std::size_t i) const noexcept;
  /// The column of a name, if there is one.
  std::optional<ColumnView> column(std::string_view name) const noexcept;

  /// All parts as one region, up to the end of the values.
  ByteView slab() const noexcept;
  SlabLayout layout() const noexcept { return SlabLayout::for_rows(rows_); }
  /// Whether the slab lies in memory registered with CUDA.
  bool registered() const noexcept;

  /// Returns its share of the slot before destruction. All views are invalid from here on, and
  /// `rows()` is 0. Copies out of the slab must have ended: the slot may be refilled at once, as
  /// after destruction.
  void release() noexcept;
  /// The same while copies run: the slot is refilled only after everything that is in `stream` now
  /// has run. Does not wait. Exception: the last owner of the slots, after the reader, waits for
  /// all copies. If several streams copy from a batch, release it in one that waits for the others.
  /// The stream belongs to the device that is current on this thread. Null is its default stream;
  /// it is refused if the slots are registered for another device.
  /// Errors: `device_failed`, `stream_captured`, `invalid_option`. The batch is then unchanged and
  ///         still held: wait for the copies before it is destroyed.
  Result<void> release(DeviceStream stream);

 private:
  friend struct detail::BatchAccess;
  friend class detail::SlotLease;
  Batch();

  /// A part of the slab; empty once the batch is released.
  template <class T>
  std::span<const T> part(std::size_t at, std::size_t size) const noexcept {
    if (slab_ == nullptr) return {};
    return {reinterpret_cast<const T*>(slab_ + at), size};
  }

  std::shared_ptr<detail::SlotLease> lease_;
  std::shared_ptr<const State> origin_;            // that of the lease, once it is released
  const detail::BatchColumns* columns_ = nullptr;  // of the lease
  const std::byte* slab_ = nullptr;
  std::uint64_t step_ = 0;
  std::uint32_t epoch_ = 0;
  std::uint32_t rows_ = 0;
  std::uint32_t valid_ = 0;
};

/// Iterates over the rows of a batch, which it borrows.
class Batch::RowIterator {
 public:
  using value_type = ByteView;
  using difference_type = std::ptrdiff_t;

  RowIterator() = default;
  RowIterator(const Batch& batch, std::uint32_t row) noexcept : batch_(&batch), row_(row) {}

  ByteView operator*() const noexcept { return batch_->row(row_); }
  RowIterator& operator++() noexcept {
    ++row_;
    return *this;
  }
  RowIterator operator++(int) noexcept {
    const RowIterator before = *this;
    ++row_;
    return before;
  }
  friend bool operator==(const RowIterator&, const RowIterator&) = default;

 private:
  const Batch* batch_ = nullptr;
  std::uint32_t row_ = 0;
};

inline Batch::RowIterator Batch::begin() const noexcept {
  return {*this, 0};
}
inline Batch::RowIterator Batch::end() const noexcept {
  return {*this, rows_};
}

}  // namespace dovetail
