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

  std::int64_t* offsets = nullptr;
  std::uint64_t* ids = nullptr;
  RowStatus* status = nullptr;
  std::byte* values = nullptr;
  std::uint64_t capacity = 0;  ///< Room for values, in bytes.
};

/// A step's slab while it is being filled.
class Slab {
 public:
  Slab(Step& step, SlotRing& ring, Oversize oversize);

  std::int64_t* offsets() const noexcept { return parts_.offsets; }
  std::uint64_t* ids() const noexcept { return parts_.ids; }
  RowStatus* status() const noexcept { return parts_.status; }
  std::byte* values() const noexcept { return parts_.values; }
  /// Room for values, in bytes.
  std::uint64_t capacity() const noexcept { return parts_.capacity; }

  /// Takes the bytes of damaged rows among [first, end) out of the values, which end with them; gives their new end.
  std::int64_t close_gaps(std::uint32_t first, std::uint32_t end) noexcept;
  /// How many rows have each status.
  std::array<std::uint32_t, 5> count_status() const noexcept;

  /// Whether `reserve` can give more than there is.
  bool may_grow() const noexcept { return oversize_ == Oversize::spill; }
  /// Makes room for so many bytes of values, in one-off memory if need be, of which the first `filled` are kept.
  Result<void> reserve(std::uint64_t bytes, std::uint64_t filled);

 private:
  Error too_large(std::uint64_t bytes) const;

  Step& step_;
  SlotRing& ring_;
  Oversize oversize_;
  SlabParts parts_;
};

}  // namespace dovetail::detail
