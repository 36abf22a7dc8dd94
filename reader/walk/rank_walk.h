// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dovetail/order.h>
#include <dovetail/plan.h>

#include "reader/walk/entry.h"
#include "reader/walk/run_memory.h"

namespace dovetail::detail {

/// Rows of consecutive batches, as they are walked: which record each of them gets, and where that lies.
struct WalkedRows {
  /// Rows that follow each other and are planned alike.
  struct Part {
    std::uint32_t end = 0;
    RowStatus status = RowStatus::empty;  ///< `empty`, `first` or `repeated`.
  };

  std::vector<Entry> same;        ///< One of each row where all records have one size,
  std::vector<SizedEntry> sized;  ///< else here. Rows that are empty have none to speak of.
  std::vector<Part> parts;

  void add(std::uint32_t rows, RowStatus status);
};

/// Walks the lanes of a rank side by side, batch by batch.
///
/// Threads: none.
class RankWalk {
 public:
  /// `record_bytes`: of each record, if all have one size and lie in runs; else 0. The memory is borrowed.
  static std::unique_ptr<RankWalk> begin(const EpochPlan& epoch, std::uint32_t rank, std::uint64_t first_step,
                                         std::uint32_t batch_rows, std::uint32_t record_bytes, RunMemory& memory);
  virtual ~RankWalk() = default;

  /// Walks on from row `from` up to `until`, counted from the first row of some batch. Gives how many rows; fewer where
  /// runs are not ready.
  virtual std::uint32_t walk(WalkedRows& rows, std::uint32_t from, std::uint32_t until) = 0;
};

}  // namespace dovetail::detail
