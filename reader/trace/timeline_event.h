// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "reader/trace/stall_clock.h"

namespace dovetail::detail {

/// One event of a timeline. Members that do not apply to its kind are empty.
struct TimelineEvent {
  using Clock = std::chrono::steady_clock;
  enum class Kind : std::uint8_t {
    plan,    ///< Job: walk rows.
    load,    ///< Job: fetch a piece of a run, by reading and decoding.
    read,    ///< Part of `load`: the read.
    decode,  ///< Part of `load`, or job: check and decode what arrived.
    gather,
    transform,     ///< Job: call the transform; in place of `gather`.
    check,         ///< Job: check a record that was read straight into its row.
    storage_read,  ///< A read that had to wait, from the request to its arrival.
    state,         ///< What the reader waited for.
    batch,         ///< The trainer got a batch.
  };

  Kind kind = Kind::plan;
  Stall stall = Stall::filling;  ///< The state; for events of kind `state`.
  bool by_trainer = false;       ///< Of a job: a trainer's thread does it instead of waiting.
  std::uint32_t rank = 0;
  Clock::time_point begin = {};
  Clock::time_point end = {};
  std::uint64_t bytes = 0;
  std::optional<std::uint32_t> shard = {};
  std::uint32_t epoch = 0;  ///< Valid if `step` is set.
  std::optional<std::uint64_t> step = {};
  std::uint32_t steps = 1;  ///< Number of steps that the event is about, from `step` on.
};

}  // namespace dovetail::detail
