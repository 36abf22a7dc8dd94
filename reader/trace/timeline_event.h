// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "reader/trace/stall_clock.h"

namespace dovetail::detail {

/// One line of a timeline. What does not apply stays empty.
struct TimelineEvent {
  using Clock = std::chrono::steady_clock;
  enum class Kind : std::uint8_t {
    plan,    ///< A job on a thread:
    load,    ///< read and decode a piece of a run,
    read,    ///< of which reading,
    decode,  ///< and decoding;
    gather,
    transform,     ///< In place of gathering.
    check,         ///< of a record that was read straight into its row.
    storage_read,  ///< A read that had to wait, from when it was asked for.
    state,         ///< What the reader was waiting for.
    batch,         ///< The trainer got a batch.
  };

  Kind kind = Kind::plan;
  Stall stall = Stall::filling;  ///< Of a state.
  bool by_trainer = false;       ///< On a trainer's thread, instead of waiting.
  std::uint32_t rank = 0;
  Clock::time_point begin;
  Clock::time_point end;
  std::uint64_t bytes = 0;
  std::optional<std::uint32_t> shard;
  std::uint32_t epoch = 0;  ///< Together with `step`.
  std::optional<std::uint64_t> step;
  std::uint32_t steps = 1;  ///< From `step` on, that were worked on together.
};

}  // namespace dovetail::detail
