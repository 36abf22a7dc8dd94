// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <dovetail/order.h>

#include "reader/plan/lane_walk.h"
#include "reader/walk/live_runs.h"

namespace dovetail::detail {

/// The `Passes` of a lane whose records are delivered.
template <class E>
class LivePasses {
 public:
  using Runs = LiveRuns<E>;

  LivePasses(RunMemory& memory, std::uint32_t record_bytes) : memory_(memory), record_bytes_(record_bytes) {}

  Runs begin(const PassBegin& pass) {
    return {memory_, memory_.begin(pass), pass.order, static_cast<std::size_t>(pass.order.largest_group()),
            record_bytes_};
  }
  void end(std::uint32_t) noexcept {}

 private:
  RunMemory& memory_;
  std::uint32_t record_bytes_;
};

/// Walks a lane output by output and gives entries, from which rows are filled later.
///
/// `record_bytes` is the size of every record if all have one size. `E` is then `Entry`, except
/// with `OrderKind::global`, where it always is `SizedEntry`.
/// Ownership: borrows the memory, which must outlive the walk.
/// Threads:   none.
template <class E>
class RecordWalk {
 public:
  RecordWalk(const LaneOrder& lane, std::uint64_t output, RunMemory& memory, std::uint32_t record_bytes)
      : passes_(memory, record_bytes), walk_(LaneLayout::of(lane), output, passes_) {}

  using Part = typename LaneWalk<LivePasses<E>>::Part;
  /// See `LaneWalk::next`.
  Part next(std::span<E> out) { return walk_.next(out); }
  std::uint64_t position() const noexcept { return walk_.position(); }

 private:
  LivePasses<E> passes_;
  LaneWalk<LivePasses<E>> walk_;
};

}  // namespace dovetail::detail
