// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/order.h>

#include "reader/delivery/extent.h"
#include "reader/memory/slot_ring.h"

namespace dovetail::detail {

class EpochFeed;
struct Step;

/// Where the bytes of one row come from.
struct PlannedRow {
  Extent* extent = nullptr;  ///< Null where no record is planned, or its shard could not be opened.
  std::uint32_t block = 0;   ///< In the extent.
  std::uint32_t record = 0;  ///< In the block.
  std::uint64_t id = kNoId;
  RowStatus status = RowStatus::empty;  ///< As planned; `damaged_empty` where the shard could not be opened.
};

/// Consecutive rows of a step whose extents fit the budget together: a whole step, unless memory is tight.
struct Unit {
  struct Use {
    std::shared_ptr<Extent> extent;
    std::uint32_t rows = 0;
  };

  Step* step = nullptr;
  std::uint32_t first_row = 0;
  std::uint32_t end_row = 0;
  std::vector<Use> uses;  ///< Each extent once.
  bool admitted = false;
  std::uint32_t missing = 0;  ///< Extents that are still being loaded.
};

/// One batch on its way from the plan to the trainer; or the end of an epoch.
///
/// Threads: belongs to the reader's strand, but for the gathering of one unit at a time.
struct Step {
  std::shared_ptr<EpochFeed> epoch;  ///< Keeps runs and extents.
  std::uint32_t epoch_number = 0;
  std::uint64_t number = 0;
  bool end_of_epoch = false;

  std::vector<PlannedRow> rows;
  std::vector<Unit> units;
  std::size_t next_unit = 0;  ///< Gathered so far.
  bool gathering = false;
  bool done = false;
  std::optional<Error> error;  ///< Why the step cannot be delivered.

  // What gathering has made.
  std::shared_ptr<SlotLease> lease;
  std::int64_t value_bytes = 0;
  std::uint32_t status_counts[5] = {};
};

}  // namespace dovetail::detail
