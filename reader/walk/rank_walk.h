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

/// The record of each row of consecutive batches, and its place.
struct WalkedRows {
  /// Consecutive rows with the same status.
  struct Part {
    std::uint32_t end = 0;
    RowStatus status = RowStatus::empty;  ///< `empty`, `first` or `repeated`.
  };

  /// Entries, one for each row, if all records have one size; otherwise `sized` has them. Entries
  /// of empty rows have no meaning.
  std::vector<Entry> same;
  std::vector<SizedEntry> sized;
  std::vector<Part> parts;

  void add(std::uint32_t rows, RowStatus status);
};

/// Walks the lanes of a rank side by side, batch by batch.
///
/// Threads: none.
class RankWalk {
 public:
  /// `record_bytes` is the size of every record if all have one size and lie in runs, else 0. The
  /// memory is borrowed.
  static std::unique_ptr<RankWalk> begin(const EpochPlan& epoch, std::uint32_t rank, std::uint64_t first_step,
                                         std::uint32_t batch_rows, std::uint32_t record_bytes, RunMemory& memory);
  virtual ~RankWalk() = default;

  /// Walks rows [`from`, `until`), counted from the first row of some batch. Returns the number of
  /// rows walked, which is less only if runs are not ready.
  virtual std::uint32_t walk(WalkedRows& rows, std::uint32_t from, std::uint32_t until) = 0;
};

}  // namespace dovetail::detail
