// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <dovetail/batch_reader.h>

namespace dovetail::detail {

class ColumnDecoders;

/// The reader's options, and facts about the dataset, that filling needs.
struct FillRules {
  OnDamage on_damage = OnDamage::fail;
  Oversize oversize = Oversize::fail;
  std::uint32_t rank = 0;
  std::uint32_t batch_rows = 1;
  std::uint32_t rows_per_lane = 1;       ///< Consecutive rows of a batch from one lane.
  std::size_t slab_bytes = 0;            ///< Distance of consecutive batches in a slot.
  std::uint32_t record_bytes = 0;        ///< Size of each record, if they come as `Entry`.
  ColumnDecoders* columns = nullptr;     ///< Set if records become columns.
  const Transform* transform = nullptr;  ///< Set if a transform makes the columns.
  std::uint64_t seed = 0;                ///< For the transform.
  /// Set once the reader stops: no other record goes to the transform.
  const std::atomic<bool>* stopping = nullptr;
};

/// Counts made while rows are filled.
struct FillCounts {
  std::uint64_t direct_reads = 0;  ///< Reads of records straight into their rows.
  std::uint64_t direct_bytes = 0;
  std::uint64_t retried_reads = 0;
  std::uint64_t unfit_records = 0;
};

}  // namespace dovetail::detail
