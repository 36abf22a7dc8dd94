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

/// The `Runs` of walks that deliver records: makes entries of records in memory, or of their places
/// in a file. With `OrderKind::global`, a group is some consecutive records.
///
/// When a group ends, the records of the group that the pool still holds are copied to spare room.
/// So the memory of a run is free once its last record is dealt. Records already in spare room stay
/// there until that room is full.
///
/// Ownership: borrows the memory. The destructor closes open runs and gives spare room back.
/// Threads:   none.
/// Cost:      memory for the runs of the largest group. The end of a group visits each slot of the
///            pool, and copies each of its records that is not in spare room.
template <class E>
class LiveRuns {
 public:
  using Entry = E;
  // Of each run: address and id of record 0, the stride, and the run itself.
  using Bases = SideBySide<std::uint64_t, std::uint64_t, std::uint32_t, const ReadyRun*>;

  /// `record_bytes` is the size of every record, if all have one size.
  LiveRuns(RunMemory& memory, std::uint64_t pass, const PassOrder& order, std::size_t largest_group,
           std::uint32_t record_bytes)
      : memory_(memory), pass_(pass), order_(order), runs_(largest_group), record_bytes_(record_bytes) {}
  LiveRuns(const LiveRuns&) = delete;
  LiveRuns& operator=(const LiveRuns&) = delete;
  ~LiveRuns();

  bool ready(const RunGroup& group);
  void bind(Bases& bases, std::size_t slot, std::uint64_t position) const;
  void give(const Bases& bases, std::size_t slot, std::size_t some, const std::uint32_t* at, E* out) const;
  std::size_t restore(std::span<const PooledPick> held, std::span<E> pool);
  void entered(std::span<const E> entries) const noexcept;
  void retire(std::span<E> pool);
  std::uint64_t scattered_ready(std::uint64_t position);
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
  /// Opens a group if all its runs are ready.
  bool open(std::uint64_t group);
  E entry_at(std::uint64_t run, std::uint32_t record) const noexcept;
  /// Bytes of the entry's record to copy: 0 if it lies in spare room or in a file, or is damaged.
  std::size_t bytes_to_move(const E& entry) const noexcept;
  void move_to_spare(std::span<E> pool) noexcept;

  RunMemory& memory_;
  std::uint64_t pass_;
  PassOrder order_;
  std::vector<ReadyRun> runs_;  // of the open group
  std::uint64_t first_run_ = 0;
  std::uint64_t end_run_ = 0;
  bool open_ = false;
  std::uint32_t record_bytes_;
  std::span<std::byte> spare_;
  std::size_t spare_used_ = 0;
};

/// The `Passes` of lanes whose records are delivered: a `LaneWalk` over them gives entries, from
/// which rows are filled later.
///
/// `record_bytes` is the size of every record if all have one size. `E` is then `Entry`.
/// Ownership: borrows the memory, which must outlive the walks.
template <class E>
class LivePasses {
 public:
  using Runs = LiveRuns<E>;

  LivePasses(RunMemory& memory, std::uint32_t record_bytes) : memory_(memory), record_bytes_(record_bytes) {}

  Runs begin(const PassBegin& pass) {
    PassBegin grouped = pass;
    grouped.order.group_scattered(memory_.scattered_group());
    return {memory_, memory_.begin(grouped), grouped.order, static_cast<std::size_t>(grouped.order.largest_group()),
            record_bytes_};
  }
  void end(std::uint32_t) noexcept {}

 private:
  RunMemory& memory_;
  std::uint32_t record_bytes_;
};

}  // namespace dovetail::detail
