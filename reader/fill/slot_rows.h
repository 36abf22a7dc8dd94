// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/order.h>

#include "reader/fill/fill_rules.h"
#include "reader/fill/slab_parts.h"
#include "reader/memory/slot_ring.h"
#include "reader/walk/entry.h"

namespace dovetail::detail {

/// The rows of a slot, which has one or several batches, each in a slab of its own. Rows are added
/// in order.
///
/// Threads: none.
/// Cost:    no allocation, except for a batch that spills.
class SlotRows {
 public:
  SlotRows(const FillRules& rules, SlotRing& ring) : rules_(rules), ring_(ring) {}

  void begin(std::shared_ptr<SlotLease> lease, std::uint32_t batches);
  /// Starts batch `batch`. Needs: the batch before it has all its rows.
  void begin_batch(std::uint32_t batch);

  const std::shared_ptr<SlotLease>& lease() const noexcept { return lease_; }
  std::shared_ptr<SlotLease> take_lease() noexcept { return std::move(lease_); }
  std::uint32_t batches() const noexcept { return batches_; }
  std::uint32_t batch() const noexcept { return batch_; }
  /// Rows added to this batch.
  std::uint32_t rows() const noexcept { return row_; }
  std::uint64_t value_bytes() const noexcept { return end_; }
  const SlabParts& parts() const noexcept { return parts_; }
  std::span<RowStatus> status() const noexcept { return {parts_.status, row_}; }

  /// Copies records, up to the first record that does not fit, is damaged, or is not in memory.
  /// Returns the number of records copied. Needs: all have one status, and fit the rows left in the
  /// batch.
  std::size_t copy(std::span<const Entry> records, RowStatus status) noexcept;
  std::size_t copy(std::span<const SizedEntry> records, RowStatus status) noexcept;
  /// Adds a row with a copy of `record`. Errors: `batch_too_large`, without detail; those of
  /// `spill`.
  Result<void> add(std::uint64_t id, RowStatus status, ByteView record);
  /// Adds a row of `bytes` bytes, which the caller writes.
  Result<void> add_room(std::uint64_t id, RowStatus status, std::uint64_t bytes);
  /// Adds a row of a batch whose values are columns.
  void add_without_bytes(std::uint64_t id, RowStatus status) noexcept;

  /// Whether `reserve` can grow the batch. Batches that share a slot cannot grow, but have room for
  /// their largest records.
  bool may_grow() const noexcept { return rules_.oversize == Oversize::spill && batches_ == 1; }
  /// Makes room for `bytes` of values, if needed in memory of its own. Keeps the first `filled`
  /// bytes.
  Result<void> reserve(std::uint64_t bytes, std::uint64_t filled);
  /// Removes the bytes of damaged rows. With `substitutes`, copies the nearest good row of the same
  /// lane to each of them, as far as there is room, and marks it. Needs: the batch has all rows.
  /// Damage is rare, so this may allocate and copy.
  Result<void> mend(bool substitutes);

 private:
  const FillRules& rules_;
  SlotRing& ring_;
  std::shared_ptr<SlotLease> lease_;
  std::uint32_t batches_ = 1;
  std::uint32_t batch_ = 0;
  std::uint32_t row_ = 0;
  std::uint64_t end_ = 0;  // of the values
  SlabParts parts_;
};

}  // namespace dovetail::detail
