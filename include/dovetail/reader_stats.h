// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/export.h>
#include <dovetail/lost_range.h>
#include <dovetail/storage_kind.h>

namespace dovetail {

/// Reads from one shard that had to wait for storage.
struct DOVETAIL_EXPORT ShardReads {
  std::string file;
  std::uint32_t shard = 0;  ///< Position in the dataset.
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;
  /// Mean time from the request of a read until its bytes were there.
  std::chrono::nanoseconds mean{};
  std::chrono::nanoseconds longest{};
};

/// A read, or the opening of a shard, that has taken longer than `ReaderOptions::hung_after`.
struct DOVETAIL_EXPORT HungRead {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;         ///< 0 while the file is being opened.
  std::chrono::nanoseconds age{};  ///< Time since the request.
};

/// What a reader has done, and where its time went. Durations are wall time since the reader was
/// opened, except those of threads.
struct DOVETAIL_EXPORT ReaderStats {
  // What was delivered.
  std::uint64_t batches = 0;
  std::uint64_t rows = 0;
  /// Bytes of rows. For columns, including offsets and alignment.
  std::uint64_t bytes = 0;
  std::uint64_t rows_first = 0;  ///< Rows by status.
  std::uint64_t rows_repeated = 0;
  std::uint64_t rows_empty = 0;
  /// In place of first deliveries and of repetitions.
  std::uint64_t rows_substituted = 0;
  std::uint64_t rows_damaged_empty = 0;  ///< Likewise.

  // Cost of the delivery.
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  /// Reads that had to wait for a device, or for the threads of the storage.
  std::uint64_t waiting_reads = 0;
  /// Of all reads, those of a record straight into its row.
  std::uint64_t direct_reads = 0;
  std::uint64_t direct_bytes = 0;  ///< Bytes of these reads.
  /// Reads of `io_uring_direct` that had to go through the page cache.
  std::uint64_t cached_reads = 0;
  /// Records that did not fit the columns, or were rejected by the transform, counted each time
  /// that they were met.
  std::uint64_t unfit_records = 0;
  std::uint64_t retried_reads = 0;  ///< Second reads of blocks that failed their check.
  /// Batches in one-off memory because they did not fit their slot.
  std::uint64_t spilled_batches = 0;
  std::uint64_t shards_opened = 0;

  // Where time went. The first six add up to the life of the reader.
  /// A request was outstanding, and bytes were still being read. This and the next three include the
  /// time until the trainer's thread runs again.
  std::chrono::nanoseconds waiting_for_storage{};
  /// A request was outstanding, and blocks were being checked, decoded or gathered.
  std::chrono::nanoseconds waiting_for_decode{};
  /// A request was outstanding, and `ReaderOptions::transform` was filling its batch.
  std::chrono::nanoseconds waiting_for_transform{};
  /// A request was outstanding, and every slot was filled or held.
  std::chrono::nanoseconds waiting_for_slot{};
  /// A batch was ready, and no request was outstanding.
  std::chrono::nanoseconds waiting_for_consumer{};
  /// No request, nothing ready: reading ahead.
  std::chrono::nanoseconds filling{};
  /// Life of the reader as the trainer sees it.
  std::chrono::nanoseconds since_first_request{};

  // Busy time of threads, summed over them, so it may exceed the life of the reader. The trainer's
  // thread counts while it helps. Gathering includes reading and checking what goes straight into
  // rows, if that needs no waiting.
  std::chrono::nanoseconds time_planning{};
  /// Reads from the page cache; waiting for a device keeps no thread busy.
  std::chrono::nanoseconds time_reading{};
  std::chrono::nanoseconds time_decoding{};
  /// Copying records into rows, or decoding them into columns.
  std::chrono::nanoseconds time_gathering{};
  /// In place of gathering where `ReaderOptions::transform` fills the rows.
  std::chrono::nanoseconds time_transforming{};

  // Storage.
  StorageKind storage = StorageKind::pread;  ///< Never `automatic`.
  /// What differs from the request; empty if nothing does.
  std::string storage_note;
  /// Reads and openings that took longer than `ReaderOptions::hung_after`.
  std::uint64_t hung_reads = 0;
  std::uint64_t given_up_reads = 0;  ///< Of these, the abandoned ones: `OnHungRead::fail`.
  std::vector<HungRead> hung_now;    ///< Those not answered yet, oldest first; at most 100.
  /// Shards with the longest mean read time, longest first; at most 5. Only reads that had to wait
  /// count, and not those that arrive after the reader has ended.
  std::vector<ShardReads> slowest_shards;

  // Memory.
  bool registered = false;
  /// Why the slots are not registered; empty if they are.
  std::string registration_note;
  /// Time to allocate the pages of the slots and register them, once.
  std::chrono::nanoseconds registration_time{};
  /// Whether the slots lie in memory from `ReaderOptions::slot_memory`.
  bool provided_memory = false;
  /// Requested NUMA node of the slots, that of the device; -1 if none is requested.
  std::int32_t numa_node = -1;
  std::uint32_t slots = 0;       ///< `prefetch + max_held`.
  std::uint64_t slot_bytes = 0;  ///< Size of a slot: for one batch, or for several tiny ones.
  /// Budget for slots, read-ahead and decoders of columns together.
  std::uint64_t budget_bytes = 0;
  std::uint64_t read_ahead_bytes = 0;  ///< Held now, in addition to the slots.
  std::uint64_t read_ahead_peak = 0;

  /// Every damaged block, and the first 100 records that do not fit the columns.
  std::vector<LostRange> damaged;

  /// Share of the time since the first request in which the trainer waited: 0 is best, 1 is all of
  /// it.
  double trainer_idle() const noexcept;
  /// Returns one JSON object with the names above.
  std::string to_json() const;
  /// Returns the stats that suit graphs, as metrics in the Prometheus text format 0.0.4, for a
  /// scrape or the textfile collector: `dovetail_reader_*`, times in seconds. `to_json` also has
  /// lists, notes, peaks and details. Each sample has `labels`, such as the rank.
  /// Errors: `invalid_option` for the name of a label.
  Result<std::string> to_prometheus(const std::map<std::string, std::string>& labels = {}) const;
};

}  // namespace dovetail
