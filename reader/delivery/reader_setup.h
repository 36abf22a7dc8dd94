// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/batch_reader.h>

#include "reader/delivery/engine.h"
#include "reader/fill/column_decoders.h"

namespace dovetail::detail {

/// How the budget is split between slots and read-ahead.
struct MemoryShares {
  std::uint32_t slots = 0;
  std::uint64_t slot_bytes = 0;
  std::uint32_t batches_per_slot = 1;
  std::uint64_t slab_bytes = 0;     ///< Of each.
  std::uint64_t decoder_bytes = 0;  ///< Of each decoder of columns, beside the slab.
  std::uint64_t read_ahead_bytes = 0;
  std::uint64_t rows_at_once = Planner::kRowsAtOnce;  ///< That are planned.
  bool scatters = false;  ///< There are slots enough to lay steps out as long before as their blocks are read.
};

/// A slot holds a batch of the largest records where half of the budget, one block aside, allows; else its share of it. Read-ahead
/// gets what is left, but for what the storage holds. Where batches are tiny, several share a slot. Where records become columns
/// of no fixed size, each decoder at work on a slot, as many as threads and the trainer, gets as much as a slot at most.
/// Errors: `budget_too_small` naming what is needed at least.
Result<MemoryShares> share_memory(const Dataset& dataset, const ReaderOptions& options, std::uint64_t storage_bytes,
                                  const ColumnDecoder* columns = nullptr, unsigned threads = 1);

/// Adds slots, out of what read-ahead has, so that rows are scattered from their blocks as these arrive: where all records
/// of a shard have one size, blocks hold several of them and come through the page cache, and half of the budget, one
/// block aside, has room for the batches that the records of one block go to. Returns the shares unchanged otherwise.
MemoryShares share_for_scattering(const MemoryShares& shares, const Dataset& dataset, const Plan& plan,
                                  const ReaderOptions& options, bool page_cache);

/// Checks the options against each other, the dataset and the limits of the process, plans, and makes the slots.
Result<EngineSetup> set_up(const Dataset& dataset, const ReaderOptions& options);

}  // namespace dovetail::detail
