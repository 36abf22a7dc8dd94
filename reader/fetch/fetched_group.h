// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
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

/// A run of a group. For a walk that begins in the middle: the part of a run that the walk needs.
/// Guarded by the store's lock, with one exception: the thread that claimed a piece of `loaded`
/// fills it without the lock.
struct Fetched {
  explicit Fetched(const Run& of) : run(of) {}

  Run run;
  std::shared_ptr<const ShardFile> file;  ///< Set until all pieces are filled.
  LoadedRun loaded;
  std::size_t next_piece = 0;  ///< The next piece to claim.
  std::size_t left = 0;        ///< Pieces that are not filled yet.
  bool prepared = false;       ///< Its pieces are known, and its memory is allocated.
  bool damaged = false;
  ReadyRun result;  ///< Set by `finish`. Its memory is unused if the shard is lost.

  /// One record, for walks that begin in the middle: its pick, and its entry once it is loaded.
  struct Single {
    std::uint64_t record = 0;  ///< Number in the run.
    std::size_t pick = 0;
    SizedEntry entry;
  };
  std::vector<Single> singles;
  /// Copies of the records in `singles`; the memory of their blocks is freed.
  AlignedBuffer copies;

  /// Makes the result after all pieces are filled. Closes the file, and frees the memory if only
  /// single records are needed.
  void finish(const DamageLog& damage, std::uint32_t record_bytes, BufferPool& buffers);

 private:
  void find_singles(const DamageLog& damage, std::uint32_t record_bytes, BufferPool& buffers);
};

/// Memory that is freed together: runs that are needed together, or spare room.
struct FetchedGroup {
  /// The runs of a group of a pass.
  static FetchedGroup of(const PassOrder& order, std::uint64_t number);
  /// For each run with picks, the part from its first to its last picked record.
  static FetchedGroup of(const PassOrder& order, std::span<const PooledPick> picks);

  std::uint64_t number = 0;
  std::vector<Fetched> runs;  // do not move: pieces that are being filled refer to them
  std::size_t unready = 0;    ///< Runs without a result.
  std::size_t next_run = 0;   ///< All runs before this one are claimed.
  std::size_t working = 0;    ///< Pieces that are being read or filled.
  AlignedBuffer spare;
  bool given_up = false;
  std::uint64_t rows = 0;  ///< The group is freed once this number of rows is filled.

  bool ready() const noexcept { return unready == 0; }
  bool is_claimed() const noexcept { return next_run == runs.size(); }
  void give_back(BufferPool& buffers);
};

}  // namespace dovetail::detail
