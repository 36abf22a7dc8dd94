// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <dovetail/batch.h>
#include <dovetail/batch_reader.h>
#include <dovetail/error.h>

#include "reader/delivery/step.h"
#include "reader/memory/slot_ring.h"

namespace dovetail::detail {

/// Where the parts of a slab are.
struct SlabParts {
  SlabParts() = default;
  SlabParts(std::span<std::byte> bytes, std::uint32_t rows) noexcept;
  /// Those of one of the step's batches. Needs: its lease.
  SlabParts(const Step& step, std::uint32_t batch) noexcept;

  std::int64_t* offsets = nullptr;
  std::uint64_t* ids = nullptr;
  RowStatus* status = nullptr;
  std::byte* values = nullptr;
  std::uint64_t capacity = 0;  ///< Room for values, in bytes.
};

/// What a row becomes whose record is damaged. Needs: a record is planned there.
constexpr RowStatus damaged_empty(RowStatus status) noexcept {
  return is_repetition(status) ? RowStatus::repeated_damaged_empty : RowStatus::damaged_empty;
}

/// What it becomes once a neighbour stands in.
constexpr RowStatus substituted(RowStatus status) noexcept {
  return is_repetition(status) ? RowStatus::repeated_substituted : RowStatus::substituted;
}

/// Whether nothing stands in for its damaged record.
constexpr bool is_damaged_empty(RowStatus status) noexcept {
  return is_damaged(status) && status == damaged_empty(status);
}

/// How many of the rows have each status. What is none, as a trainer may have written into a batch that it gets again, is
/// counted as `empty`.
std::array<std::uint32_t, kRowStatuses> count_status(std::span<const RowStatus> rows) noexcept;

/// A run of rows of one batch of a step, counted from the batch's first.
struct BatchRows {
  std::uint32_t batch = 0;
  std::uint32_t first = 0;
  std::uint32_t end = 0;

  /// Those among rows [at, end) of the step that are in one batch with the first of them.
  static BatchRows from(const Step& step, std::uint32_t at, std::uint32_t end) noexcept;
  /// The first of them, counted from the step's first.
  std::uint32_t in_step(const Step& step) const noexcept { return batch * step.batch_rows + first; }
  std::uint32_t size() const noexcept { return end - first; }
};

/// The slab of one of a step's batches while it is being filled.
class Slab {
 public:
  Slab(Step& step, std::uint32_t batch, SlotRing& ring, Oversize oversize);

  std::int64_t* offsets() const noexcept { return parts_.offsets; }
  std::uint64_t* ids() const noexcept { return parts_.ids; }
  RowStatus* status() const noexcept { return parts_.status; }
  std::byte* values() const noexcept { return parts_.values; }
  /// Room for values, in bytes.
  std::uint64_t capacity() const noexcept { return parts_.capacity; }

  /// Takes the bytes of damaged rows among [first, end) out of the values, which end with them.
  void close_gaps(std::uint32_t first, std::uint32_t end) noexcept;
  std::uint32_t rows() const noexcept { return step_.batch_rows; }

  /// Whether `reserve` can give more than there is.
  bool may_grow() const noexcept { return oversize_ == Oversize::spill && step_.batches() == 1; }
  /// Makes room for so many bytes of values, in one-off memory if need be, of which the first `filled` are kept. Batches
  /// that share a slot have room for their largest records from the start.
  Result<void> reserve(std::uint64_t bytes, std::uint64_t filled);
  /// The error of a batch that has no room, with its largest record.
  Error too_large(std::uint64_t bytes, std::uint64_t largest_id, std::uint64_t largest_bytes) const;

 private:
  Error too_large(std::uint64_t bytes) const;

  Step& step_;
  std::uint32_t batch_;
  SlotRing& ring_;
  Oversize oversize_;
  SlabParts parts_;
};

}  // namespace dovetail::detail
