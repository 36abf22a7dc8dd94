// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/batch_reader.h>

#include "reader/delivery/engine.h"

namespace dovetail::detail {

/// How the budget is split between slots and read-ahead.
struct MemoryShares {
  std::uint32_t slots = 0;
  std::uint64_t slot_bytes = 0;
  std::uint64_t read_ahead_bytes = 0;
};

/// A slot holds a batch of the largest records where half of the budget, one block aside, allows; else its share of it. Read-ahead
/// gets what is left, but for what the storage holds. Errors: `budget_too_small` naming what is needed at least.
Result<MemoryShares> share_memory(const Dataset& dataset, const ReaderOptions& options, std::uint64_t storage_bytes);

/// Checks the options against each other, the dataset and the limits of the process, plans, and makes the slots.
Result<EngineSetup> set_up(const Dataset& dataset, const ReaderOptions& options);

}  // namespace dovetail::detail
