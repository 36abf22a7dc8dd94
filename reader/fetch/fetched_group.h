// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dovetail/order.h>

#include "reader/fetch/buffer_pool.h"
#include "reader/fetch/loaded_run.h"
#include "reader/plan/pass_walk.h"

namespace dovetail::detail {

/// Memory that is freed together: runs that are needed together, or spare room.
struct FetchedGroup {
  /// The runs of a group of a pass.
  static FetchedGroup of(const PassOrder& order, std::uint64_t number);
  /// For each run with picks, the part from its first to its last picked record.
  static FetchedGroup of(const PassOrder& order, std::span<const PooledPick> picks);

  std::uint64_t number = 0;
  std::vector<LoadedRun> runs;  // do not move: pieces that are being filled refer to them
  std::size_t unready = 0;      ///< Runs without a result.
  std::size_t next_run = 0;     ///< All runs before this one are claimed.
  std::size_t working = 0;      ///< Pieces that are being read or filled.
  AlignedBuffer spare;
  bool given_up = false;
  std::uint64_t rows = 0;  ///< The group is freed once this number of rows is filled.

  bool ready() const noexcept { return unready == 0; }
  bool is_claimed() const noexcept { return next_run == runs.size(); }
  void give_back(BufferPool& buffers);
};

}  // namespace dovetail::detail
