// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/batch_reader.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include <dovetail/dataset.h>
#include <dovetail/plan.h>

#include "reader/fill/column_decoders.h"
#include "reader/memory/slot_ring.h"
#include "reader/storage/storage.h"
#include "reader/storage/thread_pool.h"

namespace dovetail::detail {

/// How the budget is split between slots and read-ahead.
struct MemoryShares {
  std::uint32_t slots = 0;
  std::uint64_t slot_bytes = 0;
  std::uint32_t batches_per_slot = 1;
  std::uint64_t slab_bytes = 0;     ///< Of each.
  std::uint64_t decoder_bytes = 0;  ///< Of each decoder of columns, beside the slab.
  std::uint64_t read_ahead_bytes = 0;
};

/// From this size on a record that has a block to itself is read, or decoded, straight into its row.
inline constexpr std::uint64_t kPlacedBytes = 16 << 10;

/// Everything that a reader is made from, checked and sized.
struct ReaderSetup {
  Dataset dataset;
  Plan plan;
  ReaderOptions options;
  std::unique_ptr<ThreadPool> workers;  ///< As many as `threads`; before the storage, whose timer runs there.
  std::unique_ptr<Storage> storage;
  std::shared_ptr<SlotRing> ring;
  std::uint32_t batches_per_slot = 1;
  std::size_t slab_bytes = 0;               ///< Of each.
  std::unique_ptr<ColumnDecoders> columns;  ///< Where records become columns.
  std::uint64_t read_ahead_bytes = 0;       ///< Budget beside the slots and the storage;
  std::uint64_t spare_bytes = 0;            ///< of that, always left for spare room of pools.
  std::uint32_t max_open_shards = 0;
  unsigned threads = 1;
};

/// A slot holds a batch of the largest records where half of the budget, one block aside, allows; else its share of it. Read-ahead
/// gets what is left, but for what the storage holds. Where batches are tiny, several share a slot. Where records become columns
/// of no fixed size, each decoder at work on a slot, as many as threads and the trainer, gets as much as a slot at most.
/// Errors: `budget_too_small` naming what is needed at least.
Result<MemoryShares> share_memory(const Dataset& dataset, const ReaderOptions& options, std::uint64_t storage_bytes,
                                  const ColumnDecoder* columns = nullptr, unsigned threads = 1);

/// Checks the options against each other, the dataset and the limits of the process, plans, and makes the slots.
Result<ReaderSetup> set_up(const Dataset& dataset, const ReaderOptions& options);

}  // namespace dovetail::detail
