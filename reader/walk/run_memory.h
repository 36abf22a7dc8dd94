// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "reader/plan/lane_walk.h"
#include "reader/walk/entry.h"

namespace dovetail::detail {

/// The runs that a walk needs, in memory. `begin` gives each pass of a lane a number.
///
/// Runs that are closed, and spare room that is given back, stay unchanged until all rows walked
/// before are filled.
/// Threads: those that walk, one at a time.
class RunMemory {
 public:
  virtual ~RunMemory() = default;

  /// How many records of `OrderKind::global` each lane has in memory together. They are a group.
  virtual std::uint64_t scattered_group() const noexcept = 0;

  /// Begins a pass and returns its number.
  virtual std::uint64_t begin(const PassBegin& pass) = 0;
  virtual void end(std::uint64_t pass) noexcept = 0;

  /// If all runs of the group are ready, opens them, fills `runs` and returns true. They stay open
  /// until `close`. One group of a pass is open at a time, in ascending order.
  virtual bool open(std::uint64_t pass, std::uint64_t group, std::span<ReadyRun> runs) = 0;
  virtual void close(std::uint64_t pass) noexcept = 0;

  /// Whether a record of a run with damage is itself damaged.
  virtual bool is_damaged(std::uint64_t id) const noexcept = 0;

  /// Room for the records that remain in a pool. Gives `wanted` bytes, or at least `least` bytes if
  /// memory is short. Throws if not even `least` bytes fit.
  virtual std::span<std::byte> take_spare(std::size_t least, std::size_t wanted) = 0;
  virtual void give_back(std::span<std::byte> spare) noexcept = 0;
};

}  // namespace dovetail::detail
