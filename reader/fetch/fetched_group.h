// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include <dovetail/order.h>

#include "reader/fetch/buffer_pool.h"
#include "reader/fetch/damage_log.h"
#include "reader/fetch/loaded_run.h"
#include "reader/plan/pass_walk.h"
#include "reader/walk/entry.h"

namespace dovetail::detail {

/// A run of a group, or the part of one that a walk needs that begins in the middle. Guarded by the store's lock. Each
/// piece of `loaded` is filled without it, by the thread that claimed the piece.
struct Fetched {
  explicit Fetched(const Run& of) : run(of) {}

  Run run;
  std::shared_ptr<const ShardFile> file;  ///< Set while it is being read.
  LoadedRun loaded;
  std::size_t next_piece = 0;  ///< Next piece to claim.
  std::size_t left = 0;        ///< Pieces that are not filled yet.
  bool prepared = false;       ///< Its pieces are known, and its memory is allocated.
  bool damaged = false;
  ReadyRun result;  ///< Set once it is ready; its memory is unused if the shard is lost.

  /// If only single records of a run are needed: a record, its pick, and its place once it is loaded.
  struct Single {
    std::uint64_t record = 0;  ///< In the run.
    std::size_t pick = 0;
    SizedEntry entry;
  };
  std::vector<Single> singles;
  AlignedBuffer copies;  ///< Copies of these records; their blocks are freed.

  bool ready() const noexcept { return prepared && left == 0; }
  /// Call after all pieces are filled: closes the file, and frees the memory if only single records were needed.
  void finish(const DamageLog& damage, std::uint32_t record_bytes, BufferPool& buffers);

 private:
  void find_singles(const DamageLog& damage, std::uint32_t record_bytes, BufferPool& buffers);
};

/// Memory that is freed together: runs that are needed together, or spare room.
struct FetchedGroup {
  /// The runs of a group of a pass.
  static FetchedGroup of(const PassOrder& order, std::uint64_t number);
  /// The stretch between the first and the last needed record of each run.
  static FetchedGroup of(const PassOrder& order, std::span<const PooledPick> picks);

  std::uint64_t number = 0;
  std::deque<Fetched> runs;
  std::size_t next_run = 0;  ///< All runs before it are claimed.
  std::size_t working = 0;   ///< Pieces that are being read or filled.
  AlignedBuffer spare;
  bool given_up = false;
  std::uint64_t rows = 0;  ///< Rows that must be filled before it is freed.

  bool ready() const noexcept {
    return std::all_of(runs.begin(), runs.end(), [](const Fetched& run) { return run.ready(); });
  }
  bool is_claimed() const noexcept { return next_run == runs.size(); }
  void give_back(BufferPool& buffers);
};

}  // namespace dovetail::detail
