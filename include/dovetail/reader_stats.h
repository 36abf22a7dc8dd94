// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace dovetail {

/// A damaged block that a reader met.
struct DamagedRange {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t first_record = 0;  ///< In the shard.
  std::uint64_t end_record = 0;
  std::string reason;
};

/// What a reader has done and where its time went. Durations are of wall time since the reader was opened.
struct ReaderStats {
  // What was delivered.
  std::uint64_t batches = 0;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;       ///< Of rows.
  std::uint64_t rows_first = 0;  ///< Rows by status.
  std::uint64_t rows_repeated = 0;
  std::uint64_t rows_empty = 0;
  std::uint64_t rows_substituted = 0;
  std::uint64_t rows_damaged_empty = 0;

  // What it took.
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t retried_reads = 0;    ///< Second readings of blocks that failed their check.
  std::uint64_t evictions = 0;        ///< Decoded bytes dropped for the budget before their last use, to be read again.
  std::uint64_t spilled_batches = 0;  ///< Batches in one-off memory because they did not fit their slot.
  std::uint64_t shards_opened = 0;

  // Where time went. The five add up to the life of the reader.
  std::chrono::nanoseconds waiting_for_storage{};   ///< A request was outstanding, and bytes were still being read.
  std::chrono::nanoseconds waiting_for_decode{};    ///< ..., and blocks were being checked, decoded or gathered.
  std::chrono::nanoseconds waiting_for_slot{};      ///< ..., and every slot was filled or held.
  std::chrono::nanoseconds waiting_for_consumer{};  ///< A batch was ready and nobody asked.
  std::chrono::nanoseconds filling{};               ///< No request, nothing ready: reading ahead.
  std::chrono::nanoseconds since_first_request{};   ///< Life of the reader as the trainer sees it.

  // Memory.
  bool registered = false;
  std::string registration_note;  ///< Why the slots are not registered; empty where they are.
  std::uint32_t slots = 0;
  std::uint64_t slot_bytes = 0;
  std::uint64_t budget_bytes = 0;      ///< For slots and read-ahead together.
  std::uint64_t read_ahead_bytes = 0;  ///< Held now, beside the slots.
  std::uint64_t read_ahead_peak = 0;

  std::vector<DamagedRange> damaged;

  /// Share of the time since the first request in which the trainer waited: 0 is best, 1 is all of it.
  double trainer_idle() const noexcept;
  /// One JSON object with the names above.
  std::string to_json() const;
};

}  // namespace dovetail
