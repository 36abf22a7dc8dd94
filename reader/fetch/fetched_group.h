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

/// A run of a group, or what a walk that begins in the middle asks for of one. The store's lock guards it.
/// The pieces of `loaded` are filled without it, each by the thread that has claimed it.
struct Fetched {
  explicit Fetched(const Run& of) : run(of) {}

  Run run;
  std::shared_ptr<const ShardFile> file;  ///< While it is being read.
  LoadedRun loaded;
  std::size_t next_piece = 0;  ///< To be claimed.
  std::size_t left = 0;        ///< Pieces that are not filled.
  bool prepared = false;       ///< It is known what it consists of, and it has its memory.
  bool damaged = false;
  ReadyRun result;  ///< Once it is ready; its memory is not looked at where the shard is lost.

  /// Of a run of which only some records are asked for: which one is that for which pick, and where it is then.
  struct Single {
    std::uint64_t record = 0;  ///< In the run.
    std::size_t pick = 0;
    SizedEntry entry;
  };
  std::vector<Single> singles;
  AlignedBuffer copies;  ///< Of these: the blocks do not stay.

  bool ready() const noexcept { return prepared && left == 0; }
  /// All pieces are filled: lets go of the file, and where only some records are asked for, of the memory.
  void finish(const DamageLog& damage, std::uint32_t record_bytes, BufferPool& buffers);

 private:
  void find_singles(const DamageLog& damage, std::uint32_t record_bytes, BufferPool& buffers);
};

/// Memory that is given up together: runs that are needed together, or spare room.
struct FetchedGroup {
  /// The runs of a group of a pass.
  static FetchedGroup of(const PassOrder& order, std::uint64_t number);
  /// Of each run what lies between the first and the last record that are asked for.
  static FetchedGroup of(const PassOrder& order, std::span<const PooledPick> picks);

  std::uint64_t number = 0;
  std::deque<Fetched> runs;
  std::size_t next_run = 0;  ///< All before it are claimed.
  std::size_t working = 0;   ///< Pieces that are being read or filled.
  AlignedBuffer spare;
  bool given_up = false;
  std::uint64_t rows = 0;  ///< Then it stays until these are filled.

  bool ready() const noexcept {
    return std::all_of(runs.begin(), runs.end(), [](const Fetched& run) { return run.ready(); });
  }
  bool is_claimed() const noexcept { return next_run == runs.size(); }
  void give_back(BufferPool& buffers);
};

}  // namespace dovetail::detail
