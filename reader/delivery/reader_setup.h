// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/batch_reader.h>

#include <cstdint>
#include <memory>

#include <dovetail/dataset.h>
#include <dovetail/plan.h>

#include "reader/fill/column_decoders.h"
#include "reader/memory/slot_ring.h"
#include "reader/storage/storage.h"
#include "reader/storage/thread_pool.h"

namespace dovetail::detail {

/// The shares of the budget.
struct MemoryShares {
  std::uint32_t slots = 0;
  std::uint64_t slot_bytes = 0;
  std::uint32_t batches_per_slot = 1;
  std::uint64_t slab_bytes = 0;        ///< Size of each slab.
  std::uint64_t decoder_bytes = 0;     ///< Memory that each column decoder may hold, beside the slab.
  std::uint64_t read_ahead_bytes = 0;  ///< Budget for runs.
  std::uint64_t budget = 0;            ///< All of it.
};

/// A record of at least this size in a block of its own is read, or decoded, straight into its row.
inline constexpr std::uint64_t kPlacedBytes = 16 << 10;

/// The checked and sized parts of a reader.
struct ReaderSetup {
  Dataset dataset;
  Plan plan;
  ReaderOptions options;
  std::unique_ptr<ThreadPool> workers;  ///< `threads` of them; declared before the storage, whose timer runs there.
  std::unique_ptr<Storage> storage;
  std::shared_ptr<SlotRing> ring;
  MemoryShares memory;
  std::uint64_t spare_bytes = 0;            ///< Part of the read-ahead reserved for spare room of pools.
  std::unique_ptr<ColumnDecoders> columns;  ///< Set if records become columns.
  /// Whether large records are read straight into their rows. Records that become columns go
  /// through memory. If batches share slots, no record is large enough; a damaged index may claim
  /// otherwise.
  bool places = false;
  std::uint64_t scattered_group = 1;  ///< See `RunMemory`.
  std::uint32_t max_open_shards = 0;
  unsigned threads = 1;
};

/// Divides the budget. If the options give none, it is 256 MiB, or up to 4 GiB where half of it must
/// be more: for slots of twice the mean batch, each with one of the largest records unless batches
/// may spill, or for `run_bytes`. Half of it, after the largest block and the storage are
/// subtracted, is for slots and column decoders. A slot has room for a batch of the largest records
/// if they fit this half; else the slots divide it evenly. Read-ahead gets all that is left. Tiny
/// batches share a slot. If columns have no fixed size, each column decoder (one for each thread,
/// and one for the trainer) gets at most as much as a slot.
/// Errors: `budget_too_small`, naming the least budget.
Result<MemoryShares> share_memory(const Dataset& dataset, const ReaderOptions& options, std::uint64_t storage_bytes,
                                  std::uint64_t run_bytes = 0, const ColumnDecoder* columns = nullptr,
                                  unsigned threads = 1);

/// Checks the options against each other, the dataset and the limits of the process. Makes the
/// plan, the slots and all other parts.
Result<ReaderSetup> set_up(const Dataset& dataset, const ReaderOptions& options);

}  // namespace dovetail::detail
