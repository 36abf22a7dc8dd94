// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "reader/plan/lane_walk.h"
#include "reader/walk/entry.h"

namespace dovetail::detail {

/// Runs in memory, as a walk asks for them. Each pass that a lane is in has a number, which
/// `begin` gives.
///
/// What is closed or given back stays as it is until all rows that were walked before are filled.
/// Threads: those of the walk, one at a time.
class RunMemory {
 public:
  virtual ~RunMemory() = default;

  /// A pass begins.
  virtual std::uint64_t begin(const PassBegin& pass) = 0;
  virtual void end(std::uint64_t pass) noexcept = 0;

  /// Fills `runs` with those of a group and returns true, if all of them are ready. They are open then until they are
  /// closed: one group at a time in each pass, ascending.
  virtual bool open(std::uint64_t pass, std::uint64_t group, std::span<ReadyRun> runs) = 0;
  virtual void close(std::uint64_t pass) noexcept = 0;

  /// Fills `entries` with records of a pass that a walk begins in the middle of, each somewhere in memory or a place, and
  /// returns true, if all of them are there. They stay until the first `close`, or the end.
  virtual bool find(std::uint64_t pass, std::span<const PooledPick> picks, std::span<SizedEntry> entries) = 0;

  /// Whether a record of a run with damage is damaged.
  virtual bool is_damaged(std::uint64_t id) const noexcept = 0;

  /// Room for the records that are left in a pool: `wanted` bytes, or if they do not fit the memory at least `least`.
  /// Throws where these do not fit either.
  virtual std::span<std::byte> take_spare(std::uint64_t pass, std::size_t least, std::size_t wanted) = 0;
  virtual void give_back(std::uint64_t pass, std::span<std::byte> spare) noexcept = 0;
};

}  // namespace dovetail::detail
