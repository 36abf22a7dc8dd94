// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

namespace dovetail::bench {

/// What one process of a measurement has to do. It travels as JSON on the command line of the
/// process.
struct Job {
  std::string task;       ///< A contestant of contestants.h, or a limit of limits.h.
  std::string data;       ///< Folder or file of the data in the form that the task reads.
  std::string workload;   ///< "w1", "w2", "w3" or "w4".
  std::vector<int> cpus;  ///< The process runs on these only.
  std::uint32_t rank = 0;
  std::uint32_t world = 1;
  std::uint32_t epochs = 1;
  std::uint64_t records = 0;  ///< Of the whole dataset.
  std::uint32_t max_record_bytes = 0;
  double seconds = 0;                       ///< How long a limit is measured.
  std::vector<std::string> reader_options;  ///< `name=value`, for the reader of Dovetail.
};
BOOST_DESCRIBE_STRUCT(Job, (),
                      (task, data, workload, cpus, rank, world, epochs, records, max_record_bytes, seconds,
                       reader_options))

/// What was delivered, and sums over it; all but one do not depend on the order.
struct Delivered {
  std::uint64_t batches = 0;
  std::uint64_t rows = 0;  ///< With a record.
  std::uint64_t bytes = 0;
  std::uint64_t words = 0;        ///< Of the first eight bytes of every row.
  std::uint64_t ids = 0;          ///< Of the ids of the rows, where the contestant knows them.
  std::uint64_t id_squares = 0;   ///< Of their squares.
  std::uint64_t id_prefixes = 0;  ///< Of the sums of ids up to each row: the only one that depends on the order.

  /// What a trainer does with a batch here: it touches the first eight bytes of each row, the same
  /// for every contestant. Row i is `values[offsets[i], offsets[i + 1])`; rows of less than eight
  /// bytes are not touched.
  void take(const std::byte* values, std::span<const std::int64_t> offsets) noexcept;
  /// Takes the ids of rows, where they are told.
  void take_ids(std::span<const std::uint64_t> of_rows) noexcept;
  void add(const Delivered& other) noexcept;

  friend bool operator==(const Delivered&, const Delivered&) = default;
};
BOOST_DESCRIBE_STRUCT(Delivered, (), (batches, rows, bytes, words, ids, id_squares, id_prefixes))

/// What one process measured. Times begin when all processes of the measurement have been told to
/// start.
struct Outcome {
  double first_batch_seconds = 0;  ///< Until the first batch was there; opening is a part of it.
  double seconds = 0;              ///< Until the last batch was taken.
  double cpu_seconds = 0;          ///< Of all threads, user and system.
  std::uint64_t first_batch_bytes = 0;
  double longest_gap_seconds = 0;  ///< Between two batches,
  double p999_gap_seconds = 0;     ///< and the one that a thousandth of the gaps exceeds.
  std::uint64_t peak_rss_kib = 0;  ///< `VmHWM`; mapped pages of the page cache count.
  Delivered delivered;
  std::string stats;  ///< JSON of the reader of Dovetail, or empty.
  std::string error;  ///< Empty where all went well.
};
BOOST_DESCRIBE_STRUCT(Outcome, (),
                      (first_batch_seconds, seconds, cpu_seconds, first_batch_bytes, longest_gap_seconds,
                       p999_gap_seconds, peak_rss_kib, delivered, stats, error))

std::string to_text(const Job& job);
/// Throws where the text is not that of a job.
Job job_from_text(const std::string& text);
std::string to_text(const Outcome& outcome);
Outcome outcome_from_text(const std::string& text);

}  // namespace dovetail::bench
