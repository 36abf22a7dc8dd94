// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <dovetail/batch.h>
#include <dovetail/batch_reader.h>
#include <dovetail/error.h>

#include "reader/delivery/step.h"
#include "reader/memory/slot_ring.h"

namespace dovetail::detail {

/// The parts of a step's slab while it is being filled.
class Slab {
 public:
  Slab(Step& step, SlotRing& ring, Oversize oversize);

  std::int64_t* offsets() const noexcept { return offsets_; }
  std::uint64_t* ids() const noexcept { return ids_; }
  RowStatus* status() const noexcept { return status_; }
  std::byte* values() const noexcept { return values_; }
  /// Room for values, in bytes.
  std::uint64_t capacity() const noexcept { return capacity_; }

  /// Whether `reserve` can give more than there is.
  bool may_grow() const noexcept { return oversize_ == Oversize::spill; }
  /// Makes room for so many bytes of values, in one-off memory if need be, of which the first `filled` are kept.
  Result<void> reserve(std::uint64_t bytes, std::uint64_t filled);

 private:
  void point_to(std::span<std::byte> bytes);
  Error too_large(std::uint64_t bytes) const;

  Step& step_;
  SlotRing& ring_;
  Oversize oversize_;
  SlabLayout layout_;
  std::int64_t* offsets_ = nullptr;
  std::uint64_t* ids_ = nullptr;
  RowStatus* status_ = nullptr;
  std::byte* values_ = nullptr;
  std::uint64_t capacity_ = 0;
};

}  // namespace dovetail::detail
