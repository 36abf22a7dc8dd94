// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/export.h>
#include <dovetail/identity.h>
#include <dovetail/plan.h>

namespace dovetail {

/// A checkpoint of the data: the position of a run, and its order. The same on every rank. Rank,
/// world and batch come from the launcher.
///
/// It means that the steps before it were handed to the trainer; steps that were only read ahead do
/// not count.
/// Source: docs/order.md, "State".
struct DOVETAIL_EXPORT State {
  /// Steps taken with the same lanes.
  struct Phase {
    std::uint64_t steps = 0;
    std::uint32_t lanes = 1;
    std::uint32_t rows_per_lane = 1;  ///< In each step.

    friend bool operator==(const Phase&, const Phase&) = default;
  };

  /// Upper bound for both forms. Most states have 60 bytes, or 84 characters.
  static constexpr std::size_t kMaxBytes = 256;
  static constexpr std::size_t kMaxChanges = 8;

  OrderKind order = OrderKind::shuffle;
  Assign assign = Assign::even;
  Tail tail = Tail::drop;
  bool sticky = false;
  bool mixed = false;
  std::uint32_t open_runs = 1;
  std::uint32_t pool = 1;
  std::uint64_t seed = 0;
  /// Replicas of the run that took it; another run may differ.
  std::uint32_t replicate = 1;
  /// Fingerprint of the dataset; in a mix, a hash of it (high) and a hash of sources, weights and
  /// stop rule (low).
  Hash128 content;
  std::uint32_t epoch = 0;
  /// 1 to 9. The last one is in progress; the others took at least one step.
  std::vector<Phase> phases;

  Position position() const noexcept;
  /// Options that continue it: everything but the mix, which a state only identifies.
  PlanOptions options(std::uint32_t world, std::uint32_t batch) const;

  /// Both forms end with a checksum.
  std::vector<std::byte> to_bytes() const;
  std::string to_text() const;
  /// Errors: `bad_state` for a state that is cut, altered or impossible; `unsupported_version` for
  ///         a newer or older one.
  static Result<State> from_bytes(ByteView bytes);
  /// White space around the text is ignored.
  static Result<State> from_text(std::string_view text);

  friend bool operator==(const State&, const State&) = default;
};

}  // namespace dovetail
