// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <dovetail/storage_kind.h>

namespace dovetail {

/// A damaged block that a reader met, or a record that does not fit its columns.
struct DamagedRange {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t first_record = 0;  ///< In the shard.
  std::uint64_t end_record = 0;
  std::string reason;
};

/// The reads from one shard that had to wait for storage.
struct ShardReads {
  std::string file;
  std::uint32_t shard = 0;  ///< Position in the dataset.
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;
  std::chrono::nanoseconds mean{};  ///< From when a read was asked for until its bytes were there.
  std::chrono::nanoseconds longest{};
};

/// A read, or the opening of a shard, that has taken longer than `ReaderOptions::hung_after`.
struct HungRead {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;         ///< 0 where the file is being opened.
  std::chrono::nanoseconds age{};  ///< Since it was asked for.
};

/// What a reader has done and where its time went. Durations are of wall time since the reader was opened, but for those
/// of threads.
struct ReaderStats {
  // What was delivered.
  std::uint64_t batches = 0;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;       ///< Of rows; of columns with their offsets, and what aligns them.
  std::uint64_t rows_first = 0;  ///< Rows by status.
  std::uint64_t rows_repeated = 0;
  std::uint64_t rows_empty = 0;
  std::uint64_t rows_substituted = 0;    ///< In place of first deliveries and of repetitions.
  std::uint64_t rows_damaged_empty = 0;  ///< Likewise.

  // What it took.
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t waiting_reads = 0;    ///< Reads that had to wait for a device, or for the threads of the storage.
  std::uint64_t direct_reads = 0;     ///< Of all reads, those of a record straight into its row,
  std::uint64_t direct_bytes = 0;     ///< and of all bytes theirs.
  std::uint64_t cached_reads = 0;     ///< Reads of `io_uring_direct` that had to go through the page cache.
  std::uint64_t unfit_records = 0;    ///< Records that did not fit the columns, each time that they were met.
  std::uint64_t retried_reads = 0;    ///< Second readings of blocks that failed their check.
  std::uint64_t spilled_batches = 0;  ///< Batches in one-off memory because they did not fit their slot.
  std::uint64_t shards_opened = 0;

  // Where time went. The five add up to the life of the reader.
  std::chrono::nanoseconds waiting_for_storage{};   ///< A request was outstanding, and bytes were still being read.
  std::chrono::nanoseconds waiting_for_decode{};    ///< ..., and blocks were being checked, decoded or gathered.
  std::chrono::nanoseconds waiting_for_slot{};      ///< ..., and every slot was filled or held.
  std::chrono::nanoseconds waiting_for_consumer{};  ///< A batch was ready and nobody asked.
  std::chrono::nanoseconds filling{};               ///< No request, nothing ready: reading ahead.
  std::chrono::nanoseconds since_first_request{};   ///< Life of the reader as the trainer sees it.

  // What threads were busy with, the trainer's among them while it helps; summed over them, so it may exceed the life of
  // the reader. Gathering includes reading and checking what goes straight into rows, where that needs no waiting.
  std::chrono::nanoseconds time_planning{};
  std::chrono::nanoseconds time_reading{};  ///< Out of the page cache; waiting for a device keeps no thread busy.
  std::chrono::nanoseconds time_decoding{};
  /// Scattering, and decoding into columns, included. Of short gatherings one in some is timed and stands for the others.
  std::chrono::nanoseconds time_gathering{};

  // Storage.
  StorageKind storage = StorageKind::pread;  ///< Never `automatic`.
  std::string storage_note;                  ///< What is not as it was asked for; empty where all is.
  std::uint64_t hung_reads = 0;              ///< That took longer than `ReaderOptions::hung_after`, and
  std::uint64_t given_up_reads = 0;          ///< of these, those that were given up: `OnHungRead::fail`.
  std::vector<HungRead> hung_now;            ///< Those that are not answered yet, the oldest first; 100 at most.
  /// The shards whose reads took longest on average, longest first; 5 at most. Only reads that had to wait are counted.
  std::vector<ShardReads> slowest_shards;

  // Memory.
  bool registered = false;
  std::string registration_note;                 ///< Why the slots are not registered; empty where they are.
  std::chrono::nanoseconds registration_time{};  ///< For giving the slots their pages and registering them, once.
  bool provided_memory = false;                  ///< The slots lie in what `ReaderOptions::slot_memory` gave.
  std::int32_t numa_node = -1;     ///< That the slots were asked to lie on, the device's; -1 where it does not matter.
  std::uint32_t slots = 0;         ///< `prefetch + max_held`.
  std::uint64_t slot_bytes = 0;    ///< For one batch, or for several tiny ones.
  std::uint64_t budget_bytes = 0;  ///< For slots, read-ahead and decoders of columns together.
  std::uint64_t read_ahead_bytes = 0;  ///< Held now, beside the slots.
  std::uint64_t read_ahead_peak = 0;

  /// Every damaged block; of records that do not fit the columns the first 100.
  std::vector<DamagedRange> damaged;

  /// Share of the time since the first request in which the trainer waited: 0 is best, 1 is all of it.
  double trainer_idle() const noexcept;
  /// One JSON object with the names above.
  std::string to_json() const;
};

}  // namespace dovetail
