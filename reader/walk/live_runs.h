// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "reader/plan/lane_walk.h"
#include "reader/walk/entry.h"
#include "reader/walk/run_memory.h"

namespace dovetail::detail {

/// Deals records that lie in memory, or have a place in a file: what a `LaneWalk` makes entries of.
///
/// What the pool has left of a group that ends is copied to spare room, so that the memory of a run is free once its last
/// record is dealt. What is there already stays, until that room is full.
///
/// Ownership: borrows the memory; its runs are closed, and spare room is given back, with it.
/// Threads:   none.
/// Cost:      memory for the runs of the largest group. A group that ends costs a look at each slot of the pool, and a
///            copy of each record that has not been copied.
template <class E>
class LiveRuns {
 public:
  using Entry = E;
  // Address and id of record 0 of each run, its stride, and the run.
  using Bases = SideBySide<std::uint64_t, std::uint64_t, std::uint32_t, const ReadyRun*>;

  /// `record_bytes`: of each record, where all have one size.
  LiveRuns(RunMemory& memory, std::uint64_t pass, const PassOrder& order, std::size_t largest_group,
           std::uint32_t record_bytes)
      : memory_(&memory), pass_(pass), order_(order), runs_(largest_group), record_bytes_(record_bytes) {}
  LiveRuns(LiveRuns&& other) noexcept;
  LiveRuns& operator=(LiveRuns&&) = delete;
  ~LiveRuns();

  bool ready(const RunGroup& group);
  void bind(Bases& bases, std::size_t slot, std::uint64_t position) const;
  void give(const Bases& bases, std::size_t slot, std::size_t some, const std::uint32_t* at, E* out) const;
  bool restore(std::span<const PooledPick> held, std::span<E> pool);
  void entered(std::span<const E> entries) const noexcept;
  void retire(std::span<E> pool);
  E scattered(std::uint64_t position) const;

 private:
  static constexpr bool kSized = std::is_same_v<E, SizedEntry>;

  std::size_t bytes_of(const E& entry) const noexcept {
    if constexpr (kSized) {
      return entry.in_memory() ? entry.bytes : 0;
    } else {
      return record_bytes_;
    }
  }
  /// Bytes that are to be copied: none of what lies in spare room, in a file, or nowhere.
  std::size_t bytes_to_move(const E& entry) const noexcept;
  void move_to_spare(std::span<E> pool) noexcept;

  RunMemory* memory_;  // null once it has been moved from
  std::uint64_t pass_;
  PassOrder order_;
  std::vector<ReadyRun> runs_;  // of the open group
  std::uint64_t first_run_ = 0;
  bool open_ = false;
  std::uint32_t record_bytes_;
  std::span<std::byte> spare_;
  std::size_t spare_used_ = 0;
};

}  // namespace dovetail::detail
