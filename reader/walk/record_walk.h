// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <dovetail/order.h>

#include "reader/plan/lane_walk.h"
#include "reader/walk/live_runs.h"

namespace dovetail::detail {

/// The passes of a lane whose records are dealt from memory.
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

/// Walks a lane, record by record, as entries: the rows of batches before they are filled.
///
/// `record_bytes` is the size of each record where all have one, and `E` then is `Entry`; with
/// `OrderKind::global` it is `SizedEntry` for all.
/// Ownership: borrows the memory, which outlives it.
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
