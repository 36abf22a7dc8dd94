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
#include "reader/fill/slab_parts.h"
#include "reader/memory/slot_ring.h"

namespace dovetail::detail {

/// Of one of the step's batches. Needs: its lease.
SlabParts parts_of(const Step& step, std::uint32_t batch) noexcept;

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
